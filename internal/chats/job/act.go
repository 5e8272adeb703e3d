package job

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// act is an act on a thing.
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

// actOfTool returns the act of a tool by its name: write_files, str_replace, runCommand. It is "" if a word of the name
// says something else, too: move_file, deploy_site.
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

// resolves reports whether an act of a tool on a thing makes a refusal good. A refusal of a person or a rule is made
// good only by the same act of the same tool, because another tool may do less. A failure, or a call of an unknown tool,
// is made good by the same act of any tool.
func (f Refusal) resolves(tool string, did act, name string) bool {
	if f.Kind == DeedCall {
		same := did != actRead && f.Tool == tool && (f.What == listed(tool) || f.What == listed(tool+" "+name))
		return same || did != "" && actOfTool(f.Tool) == did && f.What == listed(f.Tool+" "+name)
	}
	again := f.Tool == tool || f.Code == RefusedFailed || f.Code == RefusedTool
	return again && actOf(Deed{Kind: f.Kind, Deleted: f.Deleted}) == did && f.What == listed(name)
}

// done removes earlier refusals and failures of an act that was done now.
func (r *Record) done(tool string, did act, name string) {
	r.Refused = slices.DeleteFunc(slices.Clone(r.Refused), func(f Refusal) bool { return f.resolves(tool, did, name) })
}
