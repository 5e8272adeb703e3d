package webui

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/ground/origin"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/rule"
	"piloto/internal/tools/tool"
)

// Chats reads conversations. A missing id, or one of another account, gives fault.NotFound.
type Chats interface {
	conversation.ChatLister
	conversation.ChatFinder
	conversation.ChatReader
	conversation.MessageReader
}

// Runs reads runs, their lists, their events in order after a sequence number, and their plans, the oldest first.
type Runs interface {
	plan.Reader
	plan.Lister
	plan.EventReader
	plan.RevisionReader
}

// Servers reads the registry. Entries returns a server's allowlist in force, and Operation one of it in full.
type Servers interface {
	tool.ServerLister
	tool.ServerReader
	tool.EntryReader
	tool.OperationReader
}

// Projects reads projects.
type Projects interface {
	conversation.ProjectLister
	conversation.ProjectReader
}

// Credits reads the credit and the usage of an account. A credit.Store implements it.
type Credits interface {
	credit.StandingReader
	credit.LedgerReader
	credit.TurnReader
}

// Facts are the data of the deployment that the page shows.
type Facts struct {
	Provider string // openai, groq, or a host
	Model    string
	Demo     bool // the built-in demonstration model answers; shown on every page
	Local    bool // one process on this machine
	// RealtimeURL is the address of the page's WebSocket when its origin differs from the page's
	// ("wss://abc.execute-api…/prod"); else "".
	RealtimeURL string
}

// Deps are the services of the page. Now is the clock, for expiry and "5 min ago". Without Assistants and Credits
// their views do not exist, and Facts names the provider. Without Breakers no state of agents is shown, and without
// Webhooks or Rules their views do not exist, and without Jobs and Hooks no job and no hook is shown.
type Deps struct {
	Chats           Chats
	Runs            Runs
	Receipts        receipt.Reader
	Jobs            job.Reader
	Servers         Servers
	Breakers        agent.BreakerLister
	Webhooks        auth.WebhookLister
	Hooks           Hooks
	Rules           rule.Reader
	Projects        Projects
	Assistants      eligibility.SettingsReader
	Credits         Credits
	Tokens          auth.Store
	DropConnections func(ctx context.Context, account ids.Account, session string) error // stops the pushes to the connections of a session, by its hash; nil: there are none
	Facts           Facts
	Meter           *rate.Meter // rate limits; nil: none
	Now             func() time.Time
	Log             *slog.Logger
}

// New returns the handler of every route of the page. It expects the principal in the request's context
// (auth.FromContext). Without one only the sign-in form, the assets, the manifest, POST /ui/lang and POST /ui/theme are served.
func New(deps Deps) http.Handler {
	files := loadAssets()
	pages := printer{views: loadViews(files, deps.Now), facts: deps.Facts, log: deps.Log}
	gate := gate{print: pages, origin: http.NewCrossOriginProtection(), meter: deps.Meter, now: deps.Now}
	s := newSite(deps, files, pages)

	mux := http.NewServeMux()
	page := func(pattern string, h handler) { mux.Handle(pattern, gate.serve(h, false)) }
	fragment := func(pattern string, h handler) { mux.Handle("GET "+pattern, gate.serve(requireUser(h), true)) }

	page("GET /{$}", s.index)
	page("GET /manifest.webmanifest", files.manifest)
	page("GET /signin", s.signing.useCode)
	page("POST /signin", s.signing.useToken)
	page("POST /signout", s.signing.signOut)
	page("POST /ui/lang", chooseLanguage)
	page("POST /ui/theme", chooseTheme)
	mux.HandleFunc("GET /assets/{path...}", files.serve)

	mux.Handle(textRoute, gate.serve(requireUser(pages.textFragment), true))
	fragment("/ui/new", shows(pages, "new", s.chats.fresh))
	fragment("/ui/chats", shows(pages, "chats", s.list.page))
	fragment("/ui/search", shows(pages, "found", s.list.search))
	fragment("/ui/chats/{id}", shows(pages, "chat", s.chats.page))
	fragment("/ui/runs/{id}", shows(pages, "card", named(s.chats.cards.open)))
	fragment("/ui/runs/{id}/edit", shows(pages, "edit", named(s.drafts.draft)))
	fragment("/ui/edit-step", shows(pages, "edit-step", s.drafts.step))
	fragment("/ui/runs/{id}/rows/{step}", shows(pages, "rows-page", named(s.chats.cards.rows)))
	fragment("/ui/approve/{id}", shows(pages, "chat", named(s.chats.asked)))
	fragment("/ui/waiting", shows(pages, "waiting", s.list.waits.all))
	fragment("/ui/runs", shows(pages, "runs", s.history.all))
	fragment("/ui/runs.csv", s.history.file)
	fragment("/ui/rules", shows(pages, "rules", s.rules.all))
	fragment("/ui/servers", shows(pages, "servers", s.registry.all))
	fragment("/ui/servers/{id}", shows(pages, "server", named(s.registry.one)))
	fragment("/ui/projects", shows(pages, "projects", s.projects.all))
	fragment("/ui/projects/{id}", shows(pages, "project", named(s.projects.one)))
	fragment("/ui/assistants", shows(pages, "assistants", s.assistants.all))
	fragment("/ui/assistants/{id}", shows(pages, "assistant", named(s.assistants.one)))
	fragment("/ui/credits", shows(pages, "credits", s.credits.more))
	fragment("/ui/settings", shows(pages, "settings", s.settings))
	fragment("/ui/webhooks", shows(pages, "webhooks", s.hooks.all))
	fragment("/ui/hooks/{id}", shows(pages, "hook-log", named(s.hooks.log)))
	fragment("/ui/", notFound)
	page("/", notFound)
	return withSecurityHeaders(gate.checkRate(mux), policy(deps.Facts.RealtimeURL))
}

// policy returns a policy that allows this origin's files and nothing inline. The script may connect to this origin
// and to the socket's.
func policy(realtime string) string {
	connect := "'self'"
	if at := origin.Of(realtime); strings.HasPrefix(at, "wss://") || strings.HasPrefix(at, "ws://") {
		connect += " " + at
	}
	return "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"connect-src " + connect + "; manifest-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func withSecurityHeaders(next http.Handler, policy string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=()")
		next.ServeHTTP(w, r)
	})
}
