package template

// LogGroup is the log group of a function. In one process its lines go to standard error, and only
// its name is used, as the name of the lines.
type LogGroup struct {
	ID   string
	Name Value
}

// logGroup reads a log group.
func (r *reader) logGroup(id string, n node) {
	g := LogGroup{ID: id}
	n.object(handlers{
		"LogGroupName":    value(&g.Name),
		"RetentionInDays": acceptUnused("standard error is kept by whoever reads it"),
		"KmsKeyId":        acceptUnused("standard error is not encrypted"),
	})
	n.require("LogGroupName")
	r.out.LogGroups = append(r.out.LogGroups, g)
}

// The limits of a function's memory, in MB, and its default.
const (
	leastMemory   = 128
	mostMemory    = 10240
	defaultMemory = leastMemory
)
