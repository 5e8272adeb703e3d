package turn

import (
	"cmp"
	"context"
	"slices"

	"piloto/internal/chats/changes"
	"piloto/internal/chats/toolcall"
	"piloto/internal/conversation"
	"piloto/internal/models/llm"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// doFile takes a call: those of a reply are made together, in their order.
func doFile(_ context.Context, _ *loop, c toolCall) (string, error) {
	c.batch.files = append(c.batch.files, changes.Call{At: c.at, Call: files.Call{Name: c.name, Arguments: c.raw}})
	return "", nil
}

// scope returns whose files the chat has.
func (l *loop) scope() files.Place {
	return files.PlaceOf(l.req.Principal.Account, l.chat.ProjectID, l.chat.ID)
}

// hasFiles reports whether the chat, or its project, has files.
func hasFiles(chat conversation.Chat, project conversation.Project) bool {
	if chat.ProjectID != "" {
		return project.Files
	}
	return chat.Files
}

// openFiles begins the work on files. One whose client has tools works on the files of that machine.
func (l *loop) openFiles(ctx context.Context) {
	l.files = changes.Work{
		Of: changes.Of{
			Files: l.service.Files, Place: l.scope(), ChatID: l.chat.ID, Locale: l.req.Locale,
			Now: l.service.Now, Log: l.service.Log, MayUse: l.agent.MayUse, Dry: l.terms.dryRun, Long: l.terms.long,
		},
		Set: l.terms.changes.Set, Proposed: l.terms.changes.Proposed,
	}
	if len(l.terms.client) == 0 {
		l.files.Open(ctx, hasFiles(l.chat, l.project))
	}
}

// fileTools returns the file tools that the agent may use.
func (l *loop) fileTools() (list []llm.Tool) {
	for _, s := range l.files.Tools() {
		list = append(list, llm.Tool{Name: s.Name, Description: s.About, Parameters: s.Schema()})
	}
	if l.files.Offered && l.files.MayWrite() {
		list = append(list, applySpec.Tool)
	}
	return list
}

// useFiles makes the calls of file tools of a reply. Nothing is proposed beside them: their answers may change it.
func (l *loop) useFiles(ctx context.Context, b *batch, results []string) {
	if len(b.files) == 0 {
		return
	}
	if b.proposals.Any() {
		b.proposals.Early = cmp.Or(b.proposals.Early, toolcall.Error("", "nothing was proposed: propose when the other calls of this reply are answered"))
	}
	failed, room := l.files.Use(ctx, b.files, l.reading, results)
	if b.fileFailed = failed; room != nil {
		l.journal.note(*room)
	}
	l.sources = l.reading.Sources()
	if l.reading.Knows(tool.FilesID) && !slices.Contains(l.past.ReadFrom, tool.FilesID) {
		l.past.ReadFrom = append(l.past.ReadFrom, tool.FilesID)
	}
}
