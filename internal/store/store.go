// Package store joins the stores over one table. Each store is a package below, owns its rows,
// and knows no other's; package kv makes the calls.
package store

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/internal/live/realtime"
	"piloto/internal/store/access"
	"piloto/internal/store/announce"
	"piloto/internal/store/chats"
	"piloto/internal/store/gone"
	"piloto/internal/store/hooks"
	"piloto/internal/store/jobs"
	"piloto/internal/store/kept"
	"piloto/internal/store/kv"
	"piloto/internal/store/receipts"
	"piloto/internal/store/registry"
	"piloto/internal/store/router"
	"piloto/internal/store/runs"
	"piloto/internal/store/settings"
	"piloto/internal/store/setups"
	"piloto/internal/store/usage"
	"piloto/internal/store/wallet"
)

// The stores have names here under which a struct can embed them side by side. A service that
// needs rows of several gets such a struct.

type (
	// AccessStore is the store of tokens, webhooks, quotas, kept answers and connections.
	AccessStore = access.Store
	// ChatStore is the store of chats and projects, announced.
	ChatStore = announce.Chats
	// GoneStore is the store of deletions of projects and chats that are still due.
	GoneStore = gone.Store
	// HookStore is the store of hooks, of their outbox and of their deliveries.
	HookStore = hooks.Store
	// JobStore is the store of jobs, announced.
	JobStore = announce.Jobs
	// ReceiptStore is the store of chains of receipts.
	ReceiptStore = receipts.Store
	// RegistryStore is the store of registered services.
	RegistryStore = registry.Store
	// RouterStore is the store of the router of agents.
	RouterStore = router.Store
	// RunStore is the store of runs and rules, announced.
	RunStore = announce.Runs
	// SettingsStore is the store of AI settings.
	SettingsStore = settings.Store
	// UsageStore is the store of the counters of turns.
	UsageStore = usage.Store
	// WalletStore is the store of credits.
	WalletStore = wallet.Store
)

// Stores is every store of a table.
type Stores struct {
	Table *kv.Table

	Access   *AccessStore
	Chats    ChatStore
	Gone     *GoneStore
	Hooks    *HookStore
	Jobs     JobStore
	Kept     *kept.Store
	Receipts *ReceiptStore
	Registry *RegistryStore
	Router   *RouterStore
	Runs     RunStore
	Settings *SettingsStore
	Usage    *UsageStore
	Wallet   *WalletStore

	Setups   *SetupStore
	versions *setups.Store
}

// Client is the calls of DynamoDB that the stores make.
type Client = kv.Client

// Dial returns the client that calls DynamoDB, or a server of its protocol, over HTTP.
func Dial(config aws.Config) Client { return kv.Dial(config) }

// New returns the stores of the table with a name. Commits are announced to nobody.
func New(client Client, name string) Stores { return Over(kv.New(client, name)) }

// Over returns the stores of a table. Commits are announced to nobody.
func Over(t *kv.Table) Stores {
	s := Stores{
		Table:  t,
		Access: access.New(t), Receipts: receipts.New(t), Registry: registry.New(t), Router: router.New(t),
		Gone: gone.New(t), Hooks: hooks.New(t), Settings: settings.New(t), Usage: usage.New(t), Wallet: wallet.New(t), Kept: kept.New(t),
		Chats: ChatStore{Store: chats.New(t), Notifier: realtime.Nobody},
		Runs:  RunStore{Store: runs.New(t), Notifier: realtime.Nobody},
		Jobs:  JobStore{Store: jobs.New(t), Notifier: realtime.Nobody},

		versions: setups.New(t),
	}
	s.Setups = &SetupStore{stores: s}
	return s
}

// Announcing returns the same stores, whose commits of chats, runs and jobs are announced.
func (s Stores) Announcing(to realtime.Notifier) Stores {
	s.Chats.Notifier, s.Runs.Notifier, s.Jobs.Notifier = to, to, to
	return s
}

// Waking returns the same stores, whose runs resume the jobs that wait for them.
func (s Stores) Waking(jobs announce.JobWaker) Stores {
	s.Runs.Jobs = jobs
	return s
}
