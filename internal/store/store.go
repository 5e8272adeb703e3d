// Package store joins the stores over one table. Each store is a package below, owns its rows,
// and knows no other's; package kv makes the calls.
package store

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"piloto/internal/live/realtime"
	"piloto/internal/store/access"
	"piloto/internal/store/announce"
	"piloto/internal/store/chats"
	"piloto/internal/store/kv"
	"piloto/internal/store/receipts"
	"piloto/internal/store/registry"
	"piloto/internal/store/router"
	"piloto/internal/store/runs"
	"piloto/internal/store/settings"
	"piloto/internal/store/wallet"
)

// The stores under names that a struct can embed side by side. A service that needs rows of
// several gets such a struct.
type (
	AccessStore   = access.Store
	ChatStore     = announce.Chats
	ReceiptStore  = receipts.Store
	RegistryStore = registry.Store
	RouterStore   = router.Store
	RunStore      = announce.Runs
	SettingsStore = settings.Store
	WalletStore   = wallet.Store
)

// Stores is every store of a table.
type Stores struct {
	Table *kv.Table

	Access   *AccessStore
	Chats    ChatStore
	Receipts *ReceiptStore
	Registry *RegistryStore
	Router   *RouterStore
	Runs     RunStore
	Settings *SettingsStore
	Wallet   *WalletStore
}

// New returns the stores of the table with a name. Commits are announced to nobody.
func New(config aws.Config, name string) Stores {
	t := kv.New(config, name)
	return Stores{
		Table:  t,
		Access: access.New(t), Receipts: receipts.New(t), Registry: registry.New(t), Router: router.New(t),
		Settings: settings.New(t), Wallet: wallet.New(t),
		Chats: ChatStore{Store: chats.New(t), Notifier: realtime.Nobody},
		Runs:  RunStore{Store: runs.New(t), Notifier: realtime.Nobody},
	}
}

// Announcing returns the same stores, whose commits of chats and runs are announced.
func (s Stores) Announcing(to realtime.Notifier) Stores {
	s.Chats.Notifier, s.Runs.Notifier = to, to
	return s
}
