// Package web builds the page for functions/web, the only function that links its code.
package web

import (
	"context"
	"net/http"

	"piloto/internal/boot"
	"piloto/internal/edge/webui"
	"piloto/internal/ground/ids"
	"piloto/internal/live/realtime"
)

// Start runs functions/web.
func Start() { boot.StartHTTP(New) }

// New builds functions/web.
func New(w boot.World, e boot.Environment) (http.Handler, error) { return boot.Web(w, e, page) }

func page(p boot.Page) http.Handler {
	facts := webui.Facts{Provider: p.Config.Name(), Model: p.Config.Model, Demo: p.World.Demo, Local: p.World.Local}
	if p.World.SocketPath == "" {
		facts.RealtimeURL = p.Config.URL
	}
	return webui.New(webui.Deps{
		Chats: p.Stores.Chats, Runs: p.Stores.Runs, Receipts: p.Stores.Receipts, Jobs: p.Stores.Jobs, Servers: p.Stores.Registry, Projects: p.Stores.Chats, Tokens: p.Stores.Access,
		Assistants: p.Assistants, Credits: p.Stores.Wallet, Breakers: p.Breakers, Webhooks: p.Stores.Access, Hooks: p.Stores.Hooks, Rules: p.Stores.Runs, Facts: facts, Meter: p.Meter,
		DropConnections: func(ctx context.Context, account ids.Account, session string) error {
			return realtime.Disconnect(ctx, p.Stores.Access, account, session, p.World.Now())
		},
		Now: p.World.Now, Log: p.Logger,
	})
}
