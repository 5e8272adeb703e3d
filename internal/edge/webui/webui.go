package webui

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
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

// Runs reads runs, their lists, their events in order after a sequence number, their plans, the oldest first, and the
// signatures of their receipts.
type Runs interface {
	plan.Reader
	plan.Lister
	plan.EventReader
	plan.RevisionReader
	receipt.Reader
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
	DropConnections func(ctx context.Context, account, session string) error // stops the pushes to the connections of a session, by its hash; nil: there are none
	Facts           Facts
	Meter           *rate.Meter // rate limits; nil: none
	Now             func() time.Time
	Log             *slog.Logger
}

type site struct {
	Deps
	views  views
	assets assets
	origin *http.CrossOriginProtection
}

// New returns the handler of every route of the page. It expects the principal in the request's context
// (auth.FromContext). Without one only the sign-in form, the assets, the manifest, POST /ui/lang and POST /ui/theme are served.
func New(deps Deps) http.Handler {
	s := &site{Deps: deps, assets: loadAssets(), origin: http.NewCrossOriginProtection()}
	s.views = loadViews(s.assets, deps.Now)

	mux := http.NewServeMux()
	page := func(pattern string, h handler) { mux.Handle(pattern, s.serve(h, false)) }
	fragment := func(pattern string, h handler) { mux.Handle("GET "+pattern, s.serve(requireUser(h), true)) }

	page("GET /{$}", s.index)
	page("GET /manifest.webmanifest", s.manifest)
	page("GET /signin", s.useCode)
	page("POST /signin", s.useToken)
	page("POST /signout", s.signOut)
	page("POST /ui/lang", s.chooseLanguage)
	page("POST /ui/theme", s.chooseTheme)
	mux.HandleFunc("GET /assets/{path...}", s.assets.serve)

	mux.Handle(textRoute, s.serve(requireUser(s.textFragment), true))
	fragment("/ui/new", s.newFragment)
	fragment("/ui/chats", s.chatsFragment)
	fragment("/ui/search", s.searchFragment)
	fragment("/ui/chats/{id}", s.chatFragment)
	fragment("/ui/runs/{id}", s.runFragment)
	fragment("/ui/runs/{id}/edit", s.editFragment)
	fragment("/ui/edit-step", s.stepFragment)
	fragment("/ui/runs/{id}/rows/{step}", s.rowsFragment)
	fragment("/ui/approve/{id}", s.approveFragment)
	fragment("/ui/waiting", s.waitingFragment)
	fragment("/ui/runs", s.runsFragment)
	fragment("/ui/runs.csv", s.runsFile)
	fragment("/ui/rules", s.rulesFragment)
	fragment("/ui/servers", s.serversFragment)
	fragment("/ui/servers/{id}", s.serverFragment)
	fragment("/ui/projects", s.projectsFragment)
	fragment("/ui/projects/{id}", s.projectFragment)
	fragment("/ui/assistants", s.assistantsFragment)
	fragment("/ui/assistants/{id}", s.assistantFragment)
	fragment("/ui/credits", s.creditsFragment)
	fragment("/ui/settings", s.settingsFragment)
	fragment("/ui/webhooks", s.webhooksFragment)
	fragment("/ui/hooks/{id}", s.hookFragment)
	fragment("/ui/", notFound)
	page("/", notFound)
	return withSecurityHeaders(s.checkRate(mux), policy(deps.Facts.RealtimeURL))
}

// policy returns a policy that allows this origin's files and nothing inline. The script may connect to this origin
// and to the socket's.
func policy(realtime string) string {
	connect := "'self'"
	if u, err := url.Parse(realtime); err == nil && (u.Scheme == "wss" || u.Scheme == "ws") && u.Host != "" {
		connect += " " + u.Scheme + "://" + u.Host
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
