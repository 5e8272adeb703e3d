//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package disk

import (
	"errors"
	"os"
)

// canClaim is false where there is no lock that ends with its process: what is left
// there stays.
const canClaim = false

func lock(*os.File) error { return errors.ErrUnsupported }
