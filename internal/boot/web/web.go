// Package web puts the page together for functions/web, which alone holds its code.
package web

import (
	"context"
	"net/http"

	"piloto/internal/boot"
	"piloto/internal/edge/webui"
	"piloto/internal/live/realtime"
)

// Start runs functions/web.
func Start() { boot.StartHTTP(New) }

// New builds functions/web.
func New(w boot.World, e boot.Environment) (http.Handler, error) { return boot.Web(w, e, page) }

func page(p boot.Page) http.Handler {
	facts := webui.Facts{Provider: p.Config.Name(), Model: p.Config.Model, Demo: p.Demo, Local: p.Local}
	if p.SocketPath == "" {
		facts.RealtimeURL = p.Config.URL
	}
	return webui.New(webui.Deps{
		Chats: p.Table, Runs: p.Table, Servers: p.Table, Projects: p.Table, Tokens: p.Table,
		Assistants: p.Assistants, Credits: p.Table, Breakers: p.Breakers, Webhooks: p.Table, Rules: p.Table, Facts: facts, Meter: p.Meter,
		Part: func(ctx context.Context, account, session string) error {
			return realtime.Part(ctx, p.Table, account, session, p.Now())
		},
		Now: p.Now, Log: p.Logger,
	})
}
