package template

import (
	"strconv"

	"go.yaml.in/yaml/v3"
)

// LogGroup is the log group of a function. In one process its lines go to standard error, and only
// its name is used, as the name of the lines.
type LogGroup struct {
	ID   string
	Name Value
}

// logGroup reads a log group.
func (r *reader) logGroup(id string, n *yaml.Node, path string) {
	g := LogGroup{ID: id}
	r.object(n, path, handlers{
		"LogGroupName":    func(n *yaml.Node, at string) { g.Name = Value{n, at} },
		"RetentionInDays": acceptUnused("standard error is kept by whoever reads it"),
		"KmsKeyId":        acceptUnused("standard error is not encrypted"),
	})
	r.require(n, path, "LogGroupName")
	r.out.LogGroups = append(r.out.LogGroups, g)
}

// The limits of a function's memory, in MB, and its default.
const (
	leastMemory   = 128
	mostMemory    = 10240
	defaultMemory = leastMemory
)

// megabytes reads the memory of a function.
func (r *reader) megabytes(n *yaml.Node, path string) int {
	mb, err := strconv.Atoi(r.text(n, path))
	if err != nil || mb < leastMemory || mb > mostMemory {
		r.fail(n, path, "must be %d to %d MB", leastMemory, mostMemory)
	}
	return mb
}
