package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

// exposed is the warning for an address that other machines can reach.
const exposed = `  Warning  Other machines reach this address, and nothing is encrypted: who can read the network
           reads the token and all that is said. Better: listen on 127.0.0.1, with a proxy for TLS
           in front of it, named with -host NAME.

`

// greetOwner says how to sign in. The code is printed only to a terminal, because systemd,
// Docker and CI keep what a program prints, and others read it.
func (p *Process) greetOwner(ctx context.Context, out io.Writer, token, file string) error {
	seen := isTerminal(out)
	if !seen {
		fmt.Fprintf(out, "  Open     %s\n           (go run ./infra/local -open -data %s prints an address that signs you in, once)\n", p.origin, word(p.Data))
	} else {
		url, err := signInURL(ctx, p.Stores.Access, token, p.origin, p.Clock())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "  Open     %s\n           (signs you in, once)\n", url)
	}
	switch {
	case file == "":
		fmt.Fprintln(out, "  Token    the one in PILOTO_TOKEN")
	case seen:
		fmt.Fprintf(out, "  Token    %s\n           (kept in %s)\n", token, file)
	default:
		fmt.Fprintf(out, "  Token    kept in %s\n", file)
	}
	return nil
}

// isTerminal reports whether out is a terminal.
func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// signInPath is where the process of a folder is asked for an address that signs in.
const signInPath = "/signin"

// offerSignIn answers on the control socket with the address that make makes.
func (c *control) offerSignIn(make func(context.Context) (string, error)) {
	c.mux.HandleFunc("POST "+signInPath, func(w http.ResponseWriter, r *http.Request) {
		url, err := make(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, url+"\n")
	})
}

// SignIn asks the process that has a folder for an address that signs in once, and prints it.
func SignIn(ctx context.Context, folder string, out io.Writer) error {
	return refusedBy(folder, askControl(ctx, folder, http.MethodPost, signInPath, out))
}
