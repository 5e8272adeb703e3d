package httpapi

import (
	"context"
	"log/slog"
	"time"

	"piloto/internal/access/auth"
	"piloto/internal/access/rate"
	"piloto/internal/access/replay"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/turn"
	"piloto/internal/conversation"
	"piloto/internal/ground/ids"
	"piloto/internal/models/check"
	"piloto/internal/models/credit"
	"piloto/internal/models/eligibility"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
	"piloto/internal/runs/run"
	"piloto/internal/tools/tool"
)

// Config is the part that all handlers share.
type Config struct {
	Now       func() time.Time                // the clock
	NewID     func(at time.Time) string       // ULIDs
	Trace     func(context.Context) string    // the trace id of a request
	ArrivedAt func(context.Context) time.Time // arrival time of a request at the gateway; nil, or the zero time: unknown
	Log       *slog.Logger                    // for causes, which clients do not get

	Meter *rate.Meter // rate limits; nil: none

	Realtime Realtime // address of the socket; zero: none
	Ops      Ops      // for /health, /config and /metrics

	Rules    Rules         // of the accounts, for Registry
	Agents   AgentRegistry // of the accounts, for Registry
	Hooks    Hooks         // notifies other systems of events
	Webhooks Webhooks      // authenticates signed requests; nil: refuses them
	Once     *replay.Once  // stored answers of requests with a key
	Async    *Async        // asynchronous answers of turns; nil: none
	Watcher  Watcher       // wakes requests that wait for a run, for Records
}

// Watcher notifies of a change of a run's status in this process (realtime.Watches).
type Watcher interface {
	// Watch begins to watch a run. next returns a channel that is closed when the status changes after its call, or nil.
	Watch(account ids.Account, runID string) (next func() <-chan struct{}, stop func())
}

// Realtime is the address of the socket. URL is absolute (wss://…), or a path on the host of the request.
type Realtime struct {
	URL     string
	Tickets Tickets
}

// Tickets issues one-time tickets for sockets.
type Tickets interface {
	Issue(ctx context.Context, p auth.Principal, at time.Time) (ticket string, expires time.Time, err error)
}

// Turns answers messages.
type Turns interface {
	// Send answers one message. With a Session, ChatID is the client's own name for the chat, which is created when
	// it does not exist.
	Send(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Route answers one message of a session by a model's decision: directly, or by an agent. ChatID is the
	// client's own name for the session.
	Route(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Answer answers the last message of a chat.
	Answer(ctx context.Context, r turn.Request) (turn.Reply, error)
	// Stop ends the answer in progress in a chat, if there is one.
	Stop(ctx context.Context, p auth.Principal, chatID string) error
	Editor
}

// AIServices are the services of the routes below /ai.
type AIServices struct {
	Decisions Decisions
	Settings  Settings
	Wallet    Wallet
	Books     Books
	Models    eligibility.Models // to probe a provider
	Owned     Owned
	Loops     agent.LoopReader
	Checks    ProviderChecks
}

// ProviderChecks finds out what providers take (check.Service).
type ProviderChecks interface {
	// Begin returns the check that runs, and whether it began now.
	Begin(ctx context.Context, a check.Asked) (eligibility.Check, bool, error)
	// Abandon ends a check that nobody will run.
	Abandon(ctx context.Context, account ids.Account, c eligibility.Check)
	// Run makes the calls of a check that was begun, once.
	Run(ctx context.Context, account ids.Account, b check.Begun) error
}

// Decisions decides whether an account gets answers, and from which provider.
type Decisions interface {
	Status(ctx context.Context, account ids.Account, history credit.TurnReader, models eligibility.Models) (eligibility.Status, error)
	Eligibility(ctx context.Context, q eligibility.Question) (*eligibility.Selection, *eligibility.Block)
	Read(ctx context.Context, q eligibility.Question) (eligibility.Snapshot, error)
}

// Settings reads and writes an account's AI settings. Every method that changes something returns
// eligibility.ErrSetting with all faults.
type Settings interface {
	eligibility.SettingsReader
	View(ctx context.Context, account ids.Account, name string) (eligibility.ProviderView, error)
	PutProvider(ctx context.Context, account ids.Account, seen *eligibility.Config, c eligibility.Config) (eligibility.ProviderView, error)
	DeleteProvider(ctx context.Context, account ids.Account, name string) error
	// SetKey stores the account's own key of a provider; an empty one removes it.
	SetKey(ctx context.Context, account ids.Account, name string, key eligibility.Key) (eligibility.ProviderView, error)
	PutAssistant(ctx context.Context, account ids.Account, projectID string, a eligibility.Assistant) (eligibility.Assistant, error)
	DeleteAssistant(ctx context.Context, account ids.Account, projectID string) error
	PutEntitlement(ctx context.Context, account ids.Account, e eligibility.Entitlement) (eligibility.Entitlement, error)
	PutTerms(ctx context.Context, account ids.Account, t eligibility.Terms) (eligibility.Terms, error)
}

// Wallet moves credit, once for each key.
type Wallet interface {
	Move(ctx context.Context, account ids.Account, m credit.Movement) (credit.Entry, error)
	Open(ctx context.Context, account ids.Account, b credit.Purchase, p credit.Policy) (credit.Session, error)
}

// Books reads the credit and the usage of an account.
type Books interface {
	credit.StandingReader
	credit.LedgerReader
	credit.TurnReader
}

// Owned finds the chats and projects of an account. One of another account is missing.
type Owned interface {
	conversation.ChatReader
	conversation.ProjectReader
}

// Runs decides about runs.
type Runs interface {
	run.Decider
	Approve(ctx context.Context, a run.Approval) (run.Decision, error)
	Resolve(ctx context.Context, s run.Resolution) (run.Decision, error)
	// Retry returns the draft that continues a run.
	Retry(ctx context.Context, r run.Again) (run.Decision, error)
	// Reverse returns the draft that undoes the effects of a run, and Repeat that of the same plan once more.
	Reverse(ctx context.Context, a run.Again) (run.Decision, error)
	Repeat(ctx context.Context, a run.Again) (run.Decision, error)
}

// Servers is the account's registry of services.
type Servers interface {
	Register(ctx context.Context, account ids.Account, r tool.Registration, at time.Time) (tool.Server, []tool.Entry, error)
	Refresh(ctx context.Context, account ids.Account, id string, at time.Time) (tool.Server, []tool.Entry, tool.Diff, error)
	SetActive(ctx context.Context, account ids.Account, id string, active bool, at time.Time) (tool.Server, error)
	// SetKey stores the key of one place of a server. RemoveKey removes it, or all keys for the zero place.
	SetKey(ctx context.Context, account ids.Account, id string, key tool.Credential, at time.Time) (tool.Server, error)
	RemoveKey(ctx context.Context, account ids.Account, id string, place tool.KeyPlace, at time.Time) (tool.Server, error)
	// SetReads sets which calls of the server need no confirmation.
	SetReads(ctx context.Context, account ids.Account, id string, want tool.WantedReads) (tool.Server, error)
	// SetErrors sets the meaning of an error of the server.
	SetErrors(ctx context.Context, account ids.Account, id string, want tool.Errors) (tool.Server, error)
	Delete(ctx context.Context, account ids.Account, id string) error
	List(ctx context.Context, account ids.Account) ([]tool.Server, error)
	Get(ctx context.Context, account ids.Account, id string) (tool.Server, []tool.Entry, error)
}

// Stores is the stored data that Records serves. Every method treats an id of another account as missing
// (conversation.ErrChatNotFound, ErrProjectNotFound, plan.ErrRunNotFound), and refuses a cursor of another account or
// query with "cursor.invalid".
type Stores struct {
	Projects Projects
	Servers  tool.ServerReader // to check the services that a project names
	Chats    Chats
	Loops    agent.LoopReader // to check the agent that a chat chooses
	Runs     StoredRuns
	Receipts Receipts
}

// Projects reads and writes an account's projects.
type Projects interface {
	CreateProject(ctx context.Context, account ids.Account, p conversation.Project) error
	conversation.ProjectReader
	conversation.ProjectLister
	// UpdateProject applies change to the current project, and again when it was changed concurrently.
	UpdateProject(ctx context.Context, account ids.Account, id string, change func(*conversation.Project) error) (conversation.Project, error)
	DeleteProject(ctx context.Context, account ids.Account, id string) error
}

// Chats reads and writes an account's chats and messages.
type Chats interface {
	CreateChat(ctx context.Context, account ids.Account, c conversation.Chat) error
	conversation.ChatReader
	conversation.ChatLister
	conversation.ChatFinder
	// UpdateChat writes only the members that change sets.
	UpdateChat(ctx context.Context, key conversation.Key, change conversation.ChatChange, at time.Time) (conversation.Chat, error)
	// DeleteChat returns plan.ErrAlreadyRunning while the chat has an active run.
	DeleteChat(ctx context.Context, key conversation.Key) error

	conversation.MessageReader
	conversation.Brancher
	conversation.Rater
	// Session returns a chat by the client's own name, with its newest messages before the cursor in ascending
	// order, and a cursor to older ones.
	Session(ctx context.Context, account ids.Account, sessionID, cursor string) (conversation.Chat, []conversation.Message, string, error)
}

// StoredRuns reads an account's runs.
type StoredRuns interface {
	plan.Reader
	plan.BareReader
	plan.StatusReader
	plan.Lister
	plan.EventReader
	plan.RevisionReader
	plan.ResultReader
}

// Receipts reads the receipts of an account's runs.
type Receipts interface {
	receipt.Reader
	// Links returns the links of the account's chain of receipts after one, in order.
	Links(ctx context.Context, account ids.Account, after, limit int) ([]receipt.Link, error)
}

// Check is one dependency that /health checks.
type Check struct {
	Name string
	Ping func(context.Context) error
}
