package job

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// act is what is done to a thing.
type act string

// The acts. To make a file, to overwrite it and to edit it are one, because each gives it its content.
const (
	actRead    act = "read"
	actChange  act = "change"
	actDelete  act = "delete"
	actCommand act = "command"
)

func actOf(d Deed) act {
	if d.Kind == DeedChange && d.Deleted {
		return actDelete
	}
	return act(d.Kind)
}

// actOfTool returns what a tool does, by its name: write_files, str_replace, runCommand. It is "" if a word of the name says something
// else, too: move_file, deploy_site.
func actOfTool(tool string) act {
	words := toolWords().FindAllString(tool, -1)
	for i := range words {
		words[i] = strings.ToLower(words[i])
	}
	for _, k := range []struct {
		act   act
		words map[string]bool
	}{{actDelete, deleteWords()}, {actCommand, commandWords()}, {actChange, changeWords()}} {
		only := func(w string) bool { return k.words[w] || fileWords()[w] }
		if slices.ContainsFunc(words, func(w string) bool { return k.words[w] }) && !slices.ContainsFunc(words, func(w string) bool { return !only(w) }) {
			return k.act
		}
	}
	return ""
}

var (
	toolWords    = lazy.Pattern(`[A-Z]?[a-z]+|[^a-z_-]`)
	fileWords    = lazy.Words(`file files`)
	deleteWords  = lazy.Words(`delete remove unlink rm`)
	commandWords = lazy.Words(`run exec execute command commands shell bash terminal`)
	changeWords  = lazy.Words(`write create make edit update replace patch apply save overwrite insert append find search and str in to`)
)

// settles reports whether what a tool did to a thing makes good what was not done. What a person or a rule refused is good only if
// the same tool did the same: another tool may do less. What failed, or was asked of a tool that there is not, is good if the same
// was done by any.
func (f Refusal) settles(tool string, did act, name string) bool {
	if f.Kind == DeedCall {
		same := did != actRead && f.Tool == tool && (f.What == listed(tool) || f.What == listed(tool+" "+name))
		return same || did != "" && actOfTool(f.Tool) == did && f.What == listed(f.Tool+" "+name)
	}
	again := f.Tool == tool || f.Code == RefusedFailed || f.Code == RefusedTool
	return again && actOf(Deed{Kind: f.Kind, Deleted: f.Deleted}) == did && f.What == listed(name)
}

// done takes back what was refused or failed before, and was done now.
func (r *Record) done(tool string, did act, name string) {
	r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.settles(tool, did, name) })
}
