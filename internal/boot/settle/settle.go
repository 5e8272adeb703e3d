// Package settle puts together functions/settle: a request that waits for an approval is
// judged before anybody is asked, so that it holds what judges and nothing that calls.
package settle

import (
	"piloto/internal/boot"
	"piloto/internal/gateway"
	"piloto/internal/schema"
)

// Start runs functions/settle.
func Start() { boot.StartTask(New) }

// New builds functions/settle.
func New(w boot.World, e boot.Environment) (gateway.Function, error) {
	return boot.Settle(w, e, schema.Compiler{})
}
