package boot

import (
	"fmt"
	"os"

	"piloto/internal/kms"
	"piloto/internal/receipt"
)

// Receipts names the key that signs receipts.
type Receipts struct {
	// Key is the ARN of a key of KMS; on one machine, the file of an Ed25519 key.
	Key string `env:"RECEIPT_KEY,required,notEmpty"`
}

// sealing is what has the receipts of runs signed. Only functions that end runs call it:
// whoever does holds the client of KMS.
func (s site) sealing(c Receipts) (*receipt.Sealer, error) {
	sealer := &receipt.Sealer{Store: s.table, Now: s.Now}
	if !s.Local {
		sealer.Signer = kms.New(s.Keys, c.Key)
		return sealer, nil
	}
	text, err := os.ReadFile(c.Key)
	if err != nil {
		return nil, fmt.Errorf("boot: the key that signs receipts: %w", err)
	}
	if sealer.Signer, err = receipt.NewLocal(text); err != nil {
		return nil, fmt.Errorf("boot: %s: %w", c.Key, err)
	}
	return sealer, nil
}
