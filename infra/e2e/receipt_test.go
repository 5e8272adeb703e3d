package e2e

import (
	"encoding/json"
	"errors"
	"fmt"

	"piloto/internal/runs/plan"
	"piloto/internal/runs/receipt"
)

// signedReceipt waits until the receipt of an ended run is signed, and verifies it with the keys and the chain of
// the account. A receipt that only the sweep signs is verified without them.
func signedReceipt(c *client, run string) (answer, error) {
	var keys struct{ Keys []receipt.Key }
	var chain struct{ Links []receipt.Link }
	var r receipt.Receipt
	var a answer
	err := eventually(patience, func() (err error) {
		r = receipt.Receipt{}
		if a, err = readInto(c, "/api/runs/"+run+"/receipt", &r); err != nil {
			return err
		}
		last := r.Events[len(r.Events)-1]
		if r.Unsigned == receipt.Pending && r.Confirmed != nil && last.Type == plan.EventFinished && last.Seq > 3 {
			return errors.New("it is not signed")
		}
		return nil
	})
	if err != nil {
		return a, err
	}
	_, err = readInto(c, "/api/keys", &keys)
	if err == nil {
		_, err = readInto(c, "/api/receipts", &chain)
	}
	if err != nil {
		return a, err
	}
	wrong := append(receipt.Verify(r), receipt.VerifyPlace(r, chain.Links)...)
	if len(chain.Links) > 0 { // those of other runs may not be signed yet
		wrong = append(wrong, receipt.VerifyChain(chain.Links, nil)...)
	}
	if len(wrong) > 0 {
		return a, fmt.Errorf("the receipt does not hold: %v", wrong)
	}
	if r.Signature != nil {
		err = r.SignedBy(keys.Keys)
	}
	return a, err
}

// readInto sends a GET that must succeed, and decodes the answer.
func readInto(c *client, path string, into any) (answer, error) {
	a, err := c.do("GET", path, "")
	if err == nil && a.status != 200 {
		err = fmt.Errorf("%s: %s", path, a)
	}
	if err != nil {
		return a, err
	}
	return a, json.Unmarshal(a.body, into)
}
