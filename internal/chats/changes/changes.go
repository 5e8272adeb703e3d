// Package changes is the work of a model on the files of a project or chat: it reads them, and its writes form a change
// set that only it sees, until a person confirms the step that applies it. A turn, or a job, holds one Work.
package changes

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"piloto/internal/chats/proposal"
	"piloto/internal/chats/reads"
	"piloto/internal/chats/toolcall"
	"piloto/internal/chats/toolset"
	"piloto/internal/conversation"
	"piloto/internal/ground/clip"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filespec"
	"piloto/internal/workspace/overlay"
)

// Bounds of the calls of file tools.
const (
	mostCalls = 12       // of one reply
	mostReads = 16       // of one turn; a job has its steps
	mostDiff  = 80 << 10 // bytes of the diff on a card, because a person confirms only a diff that is shown whole
)

// Of identifies the files on which a model works, and the tools that its agent may use on them.
type Of struct {
	Files  files.Workspace
	Place  files.Place
	ChatID string // for the log
	Locale locale.Tag
	Now    func() time.Time
	Log    *slog.Logger
	MayUse func(tool string) bool // of tools by name, see toolset.Allows
	Dry    bool                   // nothing is proposed
	Long   bool                   // it takes many replies: it reads as much as it likes, and may make the first file
}

// Work is the work on the files so far.
type Work struct {
	Of
	Offered  bool       // the model has the tools
	Tree     files.Tree // for the prompt
	Down     bool       // they cannot be read now
	Lost     bool       // the changes are gone, because the chat has other files now
	Set      string     // the changes, see files.Workspace; "": there are none
	Proposed string     // the set that was proposed, or that could not be as it is
}

// Call is a call of a file tool, at its position in the reply.
type Call struct {
	At int
	files.Call
}

// Open begins the work with the changes that are there already, and reads the names of the files. there says that there are files; a
// long one that may propose can make the first one.
func (w *Work) Open(ctx context.Context, there bool) {
	if w.Files == nil || !there && !(w.Long && w.MayWrite()) {
		w.Set, w.Proposed = "", ""
		return
	}
	w.Offered = true
	var err error
	w.Tree, err = w.Files.Tree(ctx, w.Place, w.Set)
	if errors.Is(err, files.ErrSet) { // the chat is in another project now
		w.Lost, w.Set, w.Proposed = true, "", ""
		w.Tree, err = w.Files.Tree(ctx, w.Place, "")
	}
	if err != nil {
		w.Down = true
		w.Log.WarnContext(ctx, "turn.files_unread", "chat_id", w.ChatID, "error", err)
	}
	if !toolset.Allows(w.MayUse, filespec.ReadFile.Name, filespec.ReadFile.Class) {
		w.Tree.Guide = ""
	}
}

// Tools returns the file tools that the agent may use, without that which proposes.
func (w *Work) Tools() (list []filespec.Spec) {
	if !w.Offered {
		return nil
	}
	return slices.DeleteFunc(filespec.All(), func(s filespec.Spec) bool { return !toolset.Allows(w.MayUse, s.Name, s.Class) })
}

// MayWrite reports whether the agent may propose changes of files.
func (w *Work) MayWrite() bool {
	return !w.Dry && slices.ContainsFunc(filespec.All(), func(s filespec.Spec) bool {
		return s.Class == filespec.Write && toolset.Allows(w.MayUse, s.Name, s.Class)
	})
}

// Waits reports whether there are changes that were not proposed as they are now.
func (w *Work) Waits() bool { return w.Set != "" && w.Set != w.Proposed && !w.Dry }

// Use makes the calls of a reply in their order, and sets their results. It returns whether one failed, and a note of
// the data that was removed to make room for the changes; nil: none was.
func (w *Work) Use(ctx context.Context, list []Call, read *reads.Set, results []string) (failed bool, room *conversation.Note) {
	var calls []files.Call
	for i, c := range list {
		if i >= mostCalls || !w.Long && read.OfFiles()+i >= mostReads {
			failed = true
			results[c.At] = toolcall.Error("", fmt.Sprintf("it was not called: a reply makes %d calls of file tools at most, and an answer %d", mostCalls, mostReads))
			continue
		}
		calls = append(calls, c.Call)
	}
	if len(calls) == 0 {
		return failed, nil
	}
	used, err := w.Files.Use(ctx, w.Place, w.Set, calls, files.Options{Write: w.MayWrite(), AllowDelete: true})
	for i, c := range list[:len(calls)] {
		switch {
		case err != nil:
			failed, results[c.At] = true, toolcall.Error("", whyNot(err))
			continue
		case !used.Results[i].OK:
			failed, results[c.At] = true, toolcall.Error("", used.Results[i].Error)
			read.AddZone(tool.FilesID) // an error may have lines of a file
			continue
		}
		read.AddZone(tool.FilesID)
		results[c.At] = cmp.Or(used.Results[i].Output, "{}")
		w.note(c, read, results[c.At])
	}
	if err != nil {
		w.Log.WarnContext(ctx, "turn.files_unused", "chat_id", w.ChatID, "error", err)
		return failed, nil
	}
	w.Set = used.Set.ID
	if n := len(used.Gone); n > 0 {
		list := files.RemovedFor(w.Place, used.Gone)
		text := files.MadeRoom(list, n, func(name string) locale.Phrase { return locale.Verbatim(workspace.Printable(name)) })
		room = &conversation.Note{Code: conversation.NoteMadeRoom, Text: text.In(w.Locale)}
	}
	return failed, room
}

// note adds a read of files to the sources, as a read of a service: it stands under the answer.
func (w *Work) note(c Call, read *reads.Set, answer string) {
	if toolset.ClassOf(c.Name) != toolset.ClassRead {
		return
	}
	s := conversation.Source{
		MCPID: tool.FilesID, Service: locale.Text(w.Locale, "files.service"), Tool: c.Name,
		URL: "files:" + pathOf(c.Arguments), At: w.Now().UTC(), Status: 200, Bytes: len(answer), Answer: answer, AnswerHash: workspace.Sum([]byte(answer)),
	}
	s.RequestHash = plan.RequestHash(c.Name, s.URL, c.Arguments)
	read.Add(s, answer)
}

// pathOf returns the argument that says which file a call is about.
func pathOf(arguments json.RawMessage) string {
	var in struct{ Path, Pattern string }
	_ = json.Unmarshal(arguments, &in) // the tool judged it
	return cmp.Or(in.Path, in.Pattern)
}

// whyNot says to the model why the files cannot be used.
func whyNot(err error) string {
	var f *fault.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time: ask for less in one reply"
	case errors.As(err, &f) && f.Kind != fault.Internal:
		todo := locale.OfFault(f)
		todo.Key += ".do"
		return locale.OfFault(f).In(locale.English) + " " + todo.In(locale.English)
	}
	return "the files cannot be used now; try once more, or go on without them"
}

// Choose returns the changes of some files, all if none is named, and the set of the others. It returns the result for the model
// instead when they cannot be proposed.
func (w *Work) Choose(ctx context.Context, paths []string) (shown files.Shown, rest files.Set, result string) {
	shown, err := w.Files.Show(ctx, w.Place, w.Set)
	if err == nil && len(paths) > 0 {
		if result = notChanged(shown.Set, paths); result != "" {
			return shown, rest, result
		}
		shown, rest, err = w.divide(ctx, shown.Set, paths)
	}
	switch {
	case errors.Is(err, workspace.ErrMoved):
		return shown, rest, w.dropMoved(ctx)
	case err != nil:
		return shown, rest, toolcall.Error("", whyNot(err))
	case len(shown.Unseen) > 0:
		return shown, rest, toolcall.Error("paths", "the new content of these files cannot be shown to the person, because it is binary or too long, so it cannot be proposed: "+
			strings.Join(shown.Unseen, ", "))
	case len(shown.Diff) > mostDiff:
		return shown, rest, toolcall.Error("paths", fmt.Sprintf(
			"the diff has %d KB, and a card shows %d KB: propose some of the files first, with paths", len(shown.Diff)>>10, mostDiff>>10))
	}
	return shown, rest, ""
}

// notChanged returns the result for the model when it names a file that it did not change; else "".
func notChanged(all files.Set, paths []string) string {
	for _, p := range paths {
		if !slices.ContainsFunc(all.Changes, func(c overlay.Change) bool { return c.Name == p }) {
			return toolcall.Error("paths", fmt.Sprintf("%q was not changed", p))
		}
	}
	return ""
}

// divide returns the changes of some files, and the set of the others.
func (w *Work) divide(ctx context.Context, all files.Set, paths []string) (shown files.Shown, rest files.Set, err error) {
	var others []string
	for _, c := range all.Changes {
		if !slices.Contains(paths, c.Name) {
			others = append(others, c.Name)
		}
	}
	some, err := w.Files.Without(ctx, w.Place, all.ID, others)
	if err == nil {
		rest, err = w.Files.Without(ctx, w.Place, all.ID, paths)
	}
	if err == nil {
		shown, err = w.Files.Show(ctx, w.Place, some.ID)
	}
	return shown, rest, err
}

// dropMoved forgets the changes of files that others changed meanwhile, and returns the tool result that says so.
func (w *Work) dropMoved(ctx context.Context) string {
	set, gone, err := w.Files.Rebase(ctx, w.Place, w.Set)
	if err != nil {
		return toolcall.Error("", whyNot(err))
	}
	w.Set = set.ID
	return toolcall.Error("", "these files are not as they were when you read them, so your changes of them are dropped: "+
		strings.Join(gone, ", ")+". Read them again, and change them again if that is still right")
}

// Plan returns the plan of one step that applies a change set. Its undo restores the files.
func (w *Work) Plan(ctx context.Context, by proposal.Drafter, goal string, shown files.Shown) (plan.Plan, []fault.Field, error) {
	set := overlay.Set{Changes: shown.Set.Changes}
	title := set.Title().In(w.Locale)
	apply, err := json.Marshal(plan.ChangesBody{Set: shown.Set.ID, Changes: set.Changes, Diff: shown.Diff})
	if err != nil {
		return plan.Plan{}, nil, err
	}
	undo, err := json.Marshal(map[string]any{"set": shown.Set.ID, "changes": set.Changes, "done": "${s1.body.done}"})
	if err != nil {
		return plan.Plan{}, nil, err
	}
	own := plan.Call{MCPID: tool.FilesID, Tool: tool.ApplyChanges, Method: "PUT", Body: apply}
	back := plan.Call{MCPID: tool.FilesID, Tool: tool.UndoChanges, Method: "PUT", Body: undo}
	by.Files = []plan.Call{own, back}
	return by.Draft(ctx, plan.Proposal{Goal: cmp.Or(clip.Line(goal), title), Steps: []plan.ProposedStep{
		{ID: "s1", Title: title, MCPID: own.MCPID, Tool: own.Tool, Method: own.Method, Body: own.Body, Undo: &back},
	}})
}
