package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/locale"
	"piloto/internal/models/llm"
	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filespec"
)

// Bounds of the calls of file tools.
const (
	mostFileCalls = 12 // of one reply
	mostFileReads = 16 // of one turn; a job has its steps
)

// fileWork is what a turn, or a job, does with the files of its project or chat. What it writes is a change set, which
// becomes a step of a plan.
type fileWork struct {
	offered bool   // it has the tools
	tree    string // the names, for the prompt
	down    bool   // they cannot be read now
	lost    bool   // what was changed is gone, because the chat has other files now
	refused string // the set that could not be proposed as it is
	set     string // what was changed, see files.Workspace; "" if nothing was
}

// fileCall is one call of a file tool in a reply.
type fileCall struct {
	at int
	files.Call
}

// place returns whose files the chat has.
func (d *dialog) place() files.Place {
	return files.PlaceOf(d.req.Principal.Account, d.chat.ProjectID, d.chat.ID)
}

// openFiles finds out whether the turn has files, and reads their names. An agent of a job that may propose can make the
// first one. A job with tools of its client works on the files of that machine.
func (d *dialog) openFiles(ctx context.Context, project conversation.Project) {
	there := d.chat.Files
	if d.chat.ProjectID != "" {
		there = project.Files
	}
	if d.job != nil {
		there = there || d.mayWriteFiles()
	}
	if d.service.Files == nil || !there || d.job != nil && len(d.job.Tools) > 0 {
		return
	}
	d.files.offered = true
	if d.job != nil {
		d.files.set = d.job.Changes.Set
	}
	var err error
	d.files.tree, err = d.service.Files.Tree(ctx, d.place(), d.files.set)
	if errors.Is(err, files.ErrSet) { // the chat is in another project now
		d.files.lost, d.files.set, d.job.Changes = true, "", job.Changes{}
		d.files.tree, err = d.service.Files.Tree(ctx, d.place(), "")
	}
	if err != nil {
		d.files.down = true
		d.service.Log.WarnContext(ctx, "turn.files_unread", "chat_id", d.chat.ID, "error", err)
	}
}

// fileTools returns the file tools that the agent may use. As with the tools of a client, an agent that lists names of
// other tools has those that read when it may look, and those that write when it may propose.
func (d *dialog) fileTools() (list []llm.Tool) {
	if !d.files.offered {
		return nil
	}
	for _, s := range filespec.All() {
		if d.mayUseFile(s) {
			list = append(list, llm.Tool{Name: s.Name, Description: s.About, Parameters: s.Schema()})
		}
	}
	if d.mayWriteFiles() {
		list = append(list, applySpec.Tool)
	}
	return list
}

func (d *dialog) mayUseFile(s filespec.Spec) bool {
	needs := toolLook
	if s.Class == filespec.Write {
		needs = toolRequest
	}
	return d.agent.MayUse(s.Name) || d.agent.MayUse(needs)
}

// fileSpec returns a file tool; nil when the turn has none of the name.
func (d *dialog) fileSpec(name string) *toolSpec {
	if name == applySpec.Name {
		return &applySpec
	}
	all := filespec.All()
	i := slices.IndexFunc(all, func(s filespec.Spec) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &toolSpec{Tool: llm.Tool{Name: name}, class: toolClass(all[i].Class), do: doFile}
}

// doFile takes a call: those of a reply are made together, in their order.
func doFile(_ context.Context, _ *dialog, c toolCall) (string, error) {
	c.batch.files = append(c.batch.files, fileCall{c.at, files.Call{Name: c.name, Arguments: c.raw}})
	return "", nil
}

// useFiles makes the calls of file tools of a reply. Nothing is proposed beside them: their answers may change it.
func (d *dialog) useFiles(ctx context.Context, b *batch, results []string) {
	if len(b.files) == 0 {
		return
	}
	if b.proposals.Any() {
		b.proposals.Early = cmp.Or(b.proposals.Early, toolcall.Error("", "nothing was proposed: propose when the other calls of this reply are answered"))
	}
	var calls []files.Call
	for i, c := range b.files {
		if i >= mostFileCalls || d.job == nil && d.reading.OfFiles()+i >= mostFileReads {
			b.fileFailed = true
			results[c.at] = toolcall.Error("", fmt.Sprintf("it was not called: a reply makes %d calls of file tools at most, and an answer %d", mostFileCalls, mostFileReads))
			continue
		}
		calls = append(calls, c.Call)
	}
	if len(calls) == 0 {
		return
	}
	used, err := d.service.Files.Use(ctx, d.place(), d.files.set, calls, files.Options{Write: d.mayWriteFiles(), AllowDelete: true})
	for i, c := range b.files[:len(calls)] {
		switch {
		case err != nil:
			b.fileFailed, results[c.at] = true, toolcall.Error("", fileFault(err))
			continue
		case !used.Results[i].OK:
			b.fileFailed, results[c.at] = true, toolcall.Error("", used.Results[i].Error)
			d.addFilesCircle() // an error may have lines of a file
			continue
		}
		d.addFilesCircle()
		results[c.at] = cmp.Or(used.Results[i].Output, "{}")
		d.noteRead(c, results[c.at])
	}
	if err != nil {
		d.service.Log.WarnContext(ctx, "turn.files_unused", "chat_id", d.chat.ID, "error", err)
		return
	}
	d.files.set = used.Set.ID
	if n := len(used.Gone); n > 0 {
		list := files.RemovedFor(d.place(), used.Gone)
		text := files.MadeRoom(list, n, func(name string) locale.Phrase { return locale.Verbatim(workspace.Printable(name)) })
		d.keepNote(conversation.Note{Code: conversation.NoteMadeRoom, Text: text.In(d.req.Locale)})
	}
}

// mayWriteFiles reports whether the agent may propose changes of files.
func (d *dialog) mayWriteFiles() bool {
	return d.dryRun() == "" && slices.ContainsFunc(filespec.All(), func(s filespec.Spec) bool { return s.Class == filespec.Write && d.mayUseFile(s) })
}

// addFilesCircle notes that the model has read of the files: none of it may go into a read of a service unseen.
func (d *dialog) addFilesCircle() {
	if d.reading.AddZone(tool.FilesID) {
		d.past.ReadFrom = append(d.past.ReadFrom, tool.FilesID)
	}
}

// noteRead notes what was read of the files, as a look is noted: it stands under the answer.
func (d *dialog) noteRead(c fileCall, answer string) {
	if specs := filespec.All(); !slices.ContainsFunc(specs, func(s filespec.Spec) bool { return s.Name == c.Name && s.Class == filespec.Look }) {
		return
	}
	s := conversation.Source{
		MCPID: tool.FilesID, Service: locale.Text(d.req.Locale, "files.service"), Tool: c.Name,
		URL: "files:" + pathOf(c.Arguments), At: d.service.Now().UTC(), Status: 200, Bytes: len(answer), Answer: answer, AnswerHash: workspace.Sum([]byte(answer)),
	}
	s.RequestHash = plan.RequestHash(c.Name, s.URL, c.Arguments)
	d.reading.Add(s, answer)
	d.sources = d.reading.Sources()
}

// pathOf returns the argument that says which file a call is about.
func pathOf(arguments json.RawMessage) string {
	var in struct{ Path, Pattern string }
	_ = json.Unmarshal(arguments, &in) // the tool judged it
	return cmp.Or(in.Path, in.Pattern)
}

// fileFault says to the model why the files cannot be used.
func fileFault(err error) string {
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

// hasChanges reports whether files were changed in this turn or job, and the changes were not proposed as they are now.
func (d *dialog) hasChanges() bool {
	return d.files.set != "" && d.files.set != d.files.refused && d.dryRun() == "" && (d.job == nil || d.job.Changes.Proposed != d.files.set)
}
