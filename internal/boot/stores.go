package boot

import "piloto/internal/store"

// planStores is the rows of plans: chats, runs, the services that steps call, and what the account has set.
type planStores struct {
	store.ChatStore
	store.RunStore
	*store.RegistryStore
	*store.SetupStore
}

func (s site) planStores() planStores {
	return planStores{s.stores.Chats, s.stores.Runs, s.stores.Registry, s.stores.Setups}
}

// recordStores is the rows that a client may read again.
type recordStores struct {
	planStores
	*store.ReceiptStore
}

func (s site) recordStores() recordStores { return recordStores{s.planStores(), s.stores.Receipts} }

// eligibilityStores is the rows of which a decision takes a snapshot.
type eligibilityStores struct {
	*store.SettingsStore
	*store.WalletStore
}

func (s site) eligibilityStores() eligibilityStores {
	return eligibilityStores{s.stores.Settings, s.stores.Wallet}
}

// companyStores is the rows of the router's settings, which name agents.
type companyStores struct {
	*store.RouterStore
	*store.RegistryStore
}
