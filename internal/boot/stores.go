package boot

import (
	"piloto/internal/runs/run"
	"piloto/internal/runs/step"
)

// catalogue returns the servers, operations, projects and rules that plans depend on.
func (s site) catalogue() run.Catalogue {
	return run.Catalogue{Servers: s.stores.Registry, Operations: s.stores.Registry, Projects: s.stores.Chats, Rules: s.stores.Runs}
}

// stepStores returns the data of which calls are made.
func (s site) stepStores() step.Stores {
	return step.Stores{Catalogue: s.catalogue(), Tools: s.stores.Registry, Chats: s.stores.Chats, Runs: s.stores.Runs}
}
