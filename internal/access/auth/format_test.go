package auth_test

import (
	"testing"

	"piloto/internal/ground/ids"
)

// TestTokenIsFoundByTheHashOfItsSecret holds how a secret that a person has leads to its row: a
// change would sign everybody out.
func TestTokenIsFoundByTheHashOfItsSecret(t *testing.T) {
	const secret, hash = "pAXwB0gGfwJmVx9cXzq2b3oZk0m1n2o3p4q5r6s7t8u", "05f21a0b09a09da284c4a97caaf0d0addbee34f41d9939a1c562407cfea7d9ea"
	if got := ids.Hash(secret); got != hash {
		t.Errorf("%s", got)
	}
	if made := ids.Secret(); len(made) != len(secret) {
		t.Errorf("a new secret has %d characters", len(made))
	}
}
