package turn

import (
	"cmp"
	"context"
	"slices"

	"piloto/internal/chats/changes"
	"piloto/internal/chats/job"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/filespec"
)

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
	c.batch.files = append(c.batch.files, changes.Call{At: c.at, Call: files.Call{Name: c.name, Arguments: c.raw}})
	return "", nil
}

// place returns whose files the chat has.
func (d *dialog) place() files.Place {
	return files.PlaceOf(d.req.Principal.Account, d.chat.ProjectID, d.chat.ID)
}

// openFiles begins the work on files. A job with tools of its client works on the files of that machine.
func (d *dialog) openFiles(ctx context.Context, project conversation.Project) {
	there := d.chat.Files
	if d.chat.ProjectID != "" {
		there = project.Files
	}
	d.files = changes.Work{Of: changes.Of{
		Files: d.service.Files, Place: d.place(), ChatID: d.chat.ID, Locale: d.req.Locale,
		Now: d.service.Now, Log: d.service.Log, MayUse: d.agent.MayUse, Dry: d.dryRun() != "", Job: d.job != nil,
	}}
	if d.job == nil {
		d.files.Open(ctx, there)
		return
	}
	if len(d.job.Tools) > 0 {
		return
	}
	d.files.Set, d.files.Proposed = d.job.Changes.Set, d.job.Changes.Proposed
	if d.files.Open(ctx, there); d.files.Lost {
		d.job.Changes = job.Changes{}
	}
}

// fileTools returns the file tools that the agent may use.
func (d *dialog) fileTools() (list []llm.Tool) {
	for _, s := range d.files.Tools() {
		list = append(list, llm.Tool{Name: s.Name, Description: s.About, Parameters: s.Schema()})
	}
	if d.files.Offered && d.files.MayWrite() {
		list = append(list, applySpec.Tool)
	}
	return list
}

// useFiles makes the calls of file tools of a reply. Nothing is proposed beside them: their answers may change it.
func (d *dialog) useFiles(ctx context.Context, b *batch, results []string) {
	if len(b.files) == 0 {
		return
	}
	if b.proposals.Any() {
		b.proposals.Early = cmp.Or(b.proposals.Early, toolcall.Error("", "nothing was proposed: propose when the other calls of this reply are answered"))
	}
	failed, room := d.files.Use(ctx, b.files, d.reading, results)
	if b.fileFailed = failed; room != nil {
		d.keepNote(*room)
	}
	d.sources = d.reading.Sources()
	if d.reading.Knows(tool.FilesID) && !slices.Contains(d.past.ReadFrom, tool.FilesID) {
		d.past.ReadFrom = append(d.past.ReadFrom, tool.FilesID)
	}
}
