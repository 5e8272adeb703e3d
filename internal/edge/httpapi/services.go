package httpapi

import (
	"context"
	"log/slog"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Config is what every handler needs of the world around it.
type Config struct {
	Now       func() time.Time                // the clock
	NewID     func(at time.Time) string       // ULIDs
	Trace     func(context.Context) string    // the trace id of a request
	ArrivedAt func(context.Context) time.Time // when a request came to the gateway; nil, or the zero time: unknown
	Log       *slog.Logger                    // for causes, which clients are not told

	Meter *rate.Meter // how often one may ask; nil: as often as they like

	Realtime Realtime // where clients are told what happens; zero: nowhere
	Ops      Ops      // what is told of the deployment, and of how turns went

	Rules    Rules        // of the accounts, for Registry
	Webhooks Webhooks     // who signed requests are from; nil: from nobody
	Once     *replay.Once // what was answered to a request with a key
	Later    *Later       // how turns are answered apart from their requests; nil: with them
}

// Realtime is where clients open a socket. URL is absolute (wss://…), or a path
// of the host that the client asked.
type Realtime struct {
	URL     string
	Tickets Tickets
}

// Tickets makes what opens a socket, once.
type Tickets interface {
	Issue(ctx context.Context, p auth.Principal, at time.Time) (ticket string, expires time.Time, err error)
}

// Turns answers messages.
type Turns interface {
	// Send answers one message. With a Session, ChatID is the client's own name
	// for the chat, which is made when it does not exist.
	Send(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Route answers one message of a session by what a model says, or by an agent
	// that it chooses. ChatID is the client's own name for the session.
	Route(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Answer has what was last said in a chat answered.
	Answer(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Stop ends the answer that is being written in a chat, if there is one.
	Stop(ctx context.Context, p auth.Principal, chatID string) error
	Editor
}

// AIServices are what the routes below /ai are made of.
type AIServices struct {
	Decisions Decisions
	Settings  Settings
	Wallet    Wallet
	Books     Books
	Models    eligibility.Models // to ask a provider whether it answers
	Owned     Owned
}

// Decisions says whether an account may have answers, and from whom.
type Decisions interface {
	Status(ctx context.Context, account string, history eligibility.History, models eligibility.Models) (eligibility.Status, error)
	Eligibility(ctx context.Context, q eligibility.Question, tag locale.Tag) (*eligibility.Selection, *eligibility.Block)
	Read(ctx context.Context, q eligibility.Question) (eligibility.Snapshot, error)
}

// Settings is what an account has set of its AI. Every method that changes
// something returns eligibility.ErrSetting with all that is wrong.
type Settings interface {
	Providers(ctx context.Context, account string) ([]eligibility.ProviderView, error)
	View(ctx context.Context, account, name string) (eligibility.ProviderView, error)
	PutProvider(ctx context.Context, account string, seen *eligibility.Config, c eligibility.Config) (eligibility.ProviderView, error)
	DeleteProvider(ctx context.Context, account, name string) error
	// SetKey stores the account's own key of a provider; an empty one removes it.
	SetKey(ctx context.Context, account, name, key string) (eligibility.ProviderView, error)
	// AssistantOf returns the one in force for a project, or for the account when
	// projectID is ""; false when there is none.
	AssistantOf(ctx context.Context, account, projectID string) (eligibility.Assistant, bool, error)
	PutAssistant(ctx context.Context, account, projectID string, a eligibility.Assistant) (eligibility.Assistant, error)
	DeleteAssistant(ctx context.Context, account, projectID string) error
	Entitlement(ctx context.Context, account string) (eligibility.Entitlement, error)
	PutEntitlement(ctx context.Context, account string, e eligibility.Entitlement) (eligibility.Entitlement, error)
	Terms(ctx context.Context, account string) (eligibility.Terms, error)
	PutTerms(ctx context.Context, account string, t eligibility.Terms) (eligibility.Terms, error)
}

// Wallet moves credit, each movement once for each key.
type Wallet interface {
	Move(ctx context.Context, account string, m credit.Movement) (credit.Entry, error)
	Open(ctx context.Context, account, id, actor, reason string, p credit.Policy, units int64) (credit.Session, error)
}

// Books reads what an account has and has used.
type Books interface {
	eligibility.History
	Standing(ctx context.Context, account string, at time.Time) (credit.Standing, error)
	Ledger(ctx context.Context, account, cursor string, limit int) ([]credit.Entry, string, error)
}

// Owned finds the chats and projects that a question may name; a foreign one is
// missing.
type Owned interface {
	Chat(ctx context.Context, account, id string) (conversation.Chat, error)
	Project(ctx context.Context, account, id string) (conversation.Project, error)
}

// Runs decides over runs.
type Runs interface {
	Confirm(ctx context.Context, c run.Confirmation) (run.Decision, error)
	Cancel(ctx context.Context, c run.Cancellation) (run.Decision, error)
	Approve(ctx context.Context, a run.Approval) (run.Decision, error)
	Settle(ctx context.Context, s run.Settling) (run.Decision, error)
	// Retry returns the draft that goes on from a run.
	Retry(ctx context.Context, r run.Retrial) (run.Decision, error)
}

// Servers is the account's registry of services.
type Servers interface {
	Register(ctx context.Context, account string, r tool.Registration, at time.Time) (tool.Server, []tool.Entry, error)
	Refresh(ctx context.Context, account, id string, at time.Time) (tool.Server, []tool.Entry, tool.Diff, error)
	SetActive(ctx context.Context, account, id string, active bool, at time.Time) (tool.Server, error)
	// SetKey stores a server's key; nil removes it.
	SetKey(ctx context.Context, account, id string, key *tool.Credential, at time.Time) (tool.Server, error)
	// SetPreview says whether its GETs may be done before a plan is confirmed.
	SetPreview(ctx context.Context, account, id string, on bool) (tool.Server, error)
	Delete(ctx context.Context, account, id string) error
	List(ctx context.Context, account string) ([]tool.Server, error)
	Get(ctx context.Context, account, id string) (tool.Server, []tool.Entry, error)
}

// Store reads and writes what an account holds: projects, chats, messages,
// and the runs it reads only. Every method answers a foreign id as a missing one
// (conversation.ErrChatNotFound, ErrProjectNotFound, plan.ErrRunNotFound), and a
// cursor it did not make for this account and query with "cursor.invalid".
type Store interface {
	CreateProject(ctx context.Context, account string, p conversation.Project) error
	Project(ctx context.Context, account, id string) (conversation.Project, error)
	Projects(ctx context.Context, account string) ([]conversation.Project, error)
	// UpdateProject applies change to the project as it is, once more when it
	// moved meanwhile.
	UpdateProject(ctx context.Context, account, id string, change func(*conversation.Project) error) (conversation.Project, error)
	DeleteProject(ctx context.Context, account, id string) error
	// Server tells whether a service that a project names is the account's.
	Server(ctx context.Context, account, id string) (tool.Server, error)

	CreateChat(ctx context.Context, account string, c conversation.Chat) error
	Chat(ctx context.Context, account, id string) (conversation.Chat, error)
	// Chats lists newest first; projectID "" means all. cursor "" begins, and
	// the returned one is "" at the end.
	Chats(ctx context.Context, account, projectID, cursor string, limit int) ([]conversation.Chat, string, error)
	// UpdateChat writes what change names, and nothing else.
	UpdateChat(ctx context.Context, account, id string, change conversation.ChatChange, at time.Time) (conversation.Chat, error)
	DeleteChat(ctx context.Context, account, id string) error

	// Messages returns a page in ascending order: the newest limit messages for
	// cursor "", and the ones before them for the cursor it returns.
	Messages(ctx context.Context, account, chatID, cursor string, limit int) ([]conversation.Message, string, error)
	// Session returns the chat that a client named itself, with its newest
	// messages before the cursor in ascending order, and a cursor to older ones.
	Session(ctx context.Context, account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error)

	Run(ctx context.Context, account, id string) (plan.Run, error)
	// Events returns those with a sequence number above after, in order.
	Events(ctx context.Context, account, runID string, after, limit int) ([]plan.Event, error)
	// Revisions lists the plans a run had, the oldest first and the current one last.
	Revisions(ctx context.Context, r plan.Run) ([]plan.Revision, error)
	// Link returns a place in the account's chain of receipts, and Links those after one,
	// in order.
	Link(ctx context.Context, account string, seq int) (receipt.Link, error)
	Links(ctx context.Context, account string, after, limit int) ([]receipt.Link, error)
	// SigningKeys lists the public halves of the keys that ever signed receipts.
	SigningKeys(ctx context.Context) ([]receipt.Key, error)
	// Whole returns a result with all of its body, when it is stored apart.
	Whole(ctx context.Context, r plan.Run, stepID string, res plan.Result) (plan.Result, error)
}

// Check is one dependency that /health asks.
type Check struct {
	Name string
	Ping func(context.Context) error
}
