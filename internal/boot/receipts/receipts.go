// Package receipts builds the functions that sign receipts, functions/lifecycle and functions/sweep. No other function
// links its code.
package receipts

import (
	"fmt"
	"os"

	"piloto/internal/boot"
	"piloto/internal/edge/gateway"
	"piloto/internal/runs/kms"
	"piloto/internal/runs/receipt"
)

// StartLifecycle runs functions/lifecycle.
func StartLifecycle() { boot.StartTask(Lifecycle) }

// StartSweep runs functions/sweep.
func StartSweep() { boot.StartTask(Sweep) }

// Lifecycle builds functions/lifecycle.
func Lifecycle(w boot.World, e boot.Environment) (gateway.Function, error) {
	return boot.Lifecycle(w, e, signer)
}

// Sweep builds functions/sweep.
func Sweep(w boot.World, e boot.Environment) (gateway.Function, error) {
	return boot.Sweep(w, e, signer)
}

// signer returns a signer with a KMS key or, on one machine, with the key in a file.
func signer(w boot.World, c boot.Receipts) (receipt.Signer, error) {
	if !w.Local {
		return kms.New(w.Keys, c.Key), nil
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return nil, fmt.Errorf("boot: the key that signs receipts: %w", err)
	}
	signer, err := receipt.NewLocal(text)
	if err != nil {
		return nil, fmt.Errorf("boot: %s: %w", c.Key, err)
	}
	return signer, nil
}
