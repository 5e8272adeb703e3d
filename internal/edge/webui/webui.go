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
	// Chats lists chats, the most recently changed first; an empty project means all.
	Chats(ctx context.Context, account, projectID, cursor string, limit int) ([]conversation.Chat, string, error)
	Chat(ctx context.Context, account, chatID string) (conversation.Chat, error)
	// Messages returns the newest page, oldest message first. The cursor leads to older ones and is empty at the
	// beginning of the chat.
	Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error)
}

// Runs reads runs, their events in order after a sequence number, their plans, the oldest first, and the signatures
// of their receipts.
type Runs interface {
	Run(ctx context.Context, account, runID string) (plan.Run, error)
	Events(ctx context.Context, account, runID string, after, limit int) ([]plan.Event, error)
	Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error)
	// Link returns one link of the account's chain of receipts, and SigningKeys the public keys that ever signed
	// one.
	Link(ctx context.Context, account string, seq int) (receipt.Link, error)
	SigningKeys(ctx context.Context) ([]receipt.Key, error)
}

// Rules reads the account's rules for plans.
type Rules interface {
	Rules(ctx context.Context, account string) (rule.Set, error)
}

// Servers reads the registry. Entries returns a server's allowlist in force.
type Servers interface {
	Servers(ctx context.Context, account string) ([]tool.Server, error)
	Server(ctx context.Context, account, serverID string) (tool.Server, error)
	Entries(ctx context.Context, account string, s tool.Server) ([]tool.Entry, error)
}

// Breakers reads the breakers of an account's agents. An agent without a breaker never failed.
type Breakers interface {
	Breakers(ctx context.Context, account string) ([]agent.Breaker, error)
}

// Webhooks reads an account's webhooks, the oldest first, without their secrets.
type Webhooks interface {
	Webhooks(ctx context.Context, account string) ([]auth.Webhook, error)
}

// Projects reads projects.
type Projects interface {
	Projects(ctx context.Context, account string) ([]conversation.Project, error)
	Project(ctx context.Context, account, projectID string) (conversation.Project, error)
}

// Assistants reads the assistants and providers of an account. *eligibility.Manager implements it.
type Assistants interface {
	// AssistantOf returns the assistant in force for a project, or for the account when projectID is ""; false when
	// there is none.
	AssistantOf(ctx context.Context, account, projectID string) (eligibility.Assistant, bool, error)
	Entitlement(ctx context.Context, account string) (eligibility.Entitlement, error)
	Terms(ctx context.Context, account string) (eligibility.Terms, error)
	Providers(ctx context.Context, account string) ([]eligibility.ProviderView, error)
}

// Credits reads the credit and the usage of an account. A credit.Store implements it.
type Credits interface {
	Standing(ctx context.Context, account string, at time.Time) (credit.Standing, error)
	// Ledger lists the entries, the newest first.
	Ledger(ctx context.Context, account, cursor string, limit int) ([]credit.Entry, string, error)
	// Turns calls f for each turn of a period, the newest first, until f returns false.
	Turns(ctx context.Context, account string, from, to time.Time, f func(credit.Turn) bool) error
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
// Webhooks or Rules their views do not exist.
type Deps struct {
	Chats           Chats
	Runs            Runs
	Servers         Servers
	Breakers        Breakers
	Webhooks        Webhooks
	Rules           Rules
	Projects        Projects
	Assistants      Assistants
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
// (auth.FromContext). Without one only the sign-in form, the assets and POST /ui/lang are served.
func New(deps Deps) http.Handler {
	s := &site{Deps: deps, assets: loadAssets(), origin: http.NewCrossOriginProtection()}
	s.views = loadViews(s.assets, deps.Now)

	mux := http.NewServeMux()
	page := func(pattern string, h handler) { mux.Handle(pattern, s.serve(h, false)) }
	fragment := func(pattern string, h handler) { mux.Handle("GET "+pattern, s.serve(requireUser(h), true)) }

	page("GET /{$}", s.index)
	page("GET /signin", s.useCode)
	page("POST /signin", s.useToken)
	page("POST /signout", s.signOut)
	page("POST /ui/lang", s.chooseLanguage)
	mux.HandleFunc("GET /assets/{path...}", s.assets.serve)

	fragment("/ui/new", s.newFragment)
	fragment("/ui/chats", s.chatsFragment)
	fragment("/ui/chats/{id}", s.chatFragment)
	fragment("/ui/runs/{id}", s.runFragment)
	fragment("/ui/runs/{id}/edit", s.editFragment)
	fragment("/ui/approve/{id}", s.approveFragment)
	fragment("/ui/rules", s.rulesFragment)
	fragment("/ui/servers", s.serversFragment)
	fragment("/ui/servers/{id}", s.serverFragment)
	fragment("/ui/projects", s.projectsFragment)
	fragment("/ui/projects/{id}", s.projectFragment)
	fragment("/ui/assistants", s.assistantsFragment)
	fragment("/ui/assistants/{id}", s.assistantFragment)
	fragment("/ui/credits", s.creditsFragment)
	fragment("/ui/webhooks", s.webhooksFragment)
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
		"connect-src " + connect + "; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
