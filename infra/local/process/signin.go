package process

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
)

// exposedWarning warns about an address that other machines can reach.
const exposedWarning = `  Warning  Other machines reach this address, and nothing is encrypted: who can read the network
           reads the token and all that is said. Better: listen on 127.0.0.1, with a proxy for TLS
           in front of it, named with --host NAME.

`

// printSignIn prints how to sign in. It prints the code only to a terminal, because systemd, Docker
// and CI keep the output of a program, and others read it.
func (p *Process) printSignIn(ctx context.Context, out io.Writer, token, file string) error {
	seen := isTerminal(out)
	if !seen {
		fmt.Fprintf(out, "  Open     %s\n           (piloto open --data %s prints an address that signs you in, once)\n", p.origin, shellWord(p.Data))
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

// signInPath is the path of the control socket that returns a URL for one sign-in.
const signInPath = "/signin"

// serveSignIn responds on the control socket with the URL that make returns.
func (c *control) serveSignIn(make func(context.Context) (string, error)) {
	c.mux.HandleFunc("POST "+signInPath, func(w http.ResponseWriter, r *http.Request) {
		url, err := make(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, url+"\n")
	})
}

// SignIn requests a URL for one sign-in from the process of a folder, and prints it.
func SignIn(ctx context.Context, folder string, out io.Writer) error {
	return explainNoProcess(folder, requestControl(ctx, folder, http.MethodPost, signInPath, out))
}
