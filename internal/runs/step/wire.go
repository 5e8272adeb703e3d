package step

import (
	"context"
	"time"

	"piloto/internal/runs/plan"
	"piloto/internal/tools/tool"
	"piloto/internal/workspace/files"
)

// wire sends calls.
type wire struct {
	sender Sender
	caller tool.Caller
	files  files.Workspace
	tools  tool.Freezer
}

// send makes a call that takes at most a time.
func (w wire) send(ctx context.Context, r plan.Run, call prepared, within time.Duration) (tool.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	switch {
	case call.tool == nil:
		return w.sender.Send(ctx, call.request, call.keys, maxAnswer)
	case call.server.Kind == tool.KindFiles:
		return w.changeFiles(ctx, r, *call.tool)
	}
	return w.caller.CallTool(ctx, *call.tool)
}
