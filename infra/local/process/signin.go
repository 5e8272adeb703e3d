package process

import (
	"context"
	"io"
	"net/http"
)

// signInPath is the path of the control socket that returns a URL for one sign-in.
const signInPath = "/signin"

// serveSignIn responds on the control socket with the URL that make returns.
func (c *control) serveSignIn(make func(context.Context) (string, error)) {
	c.mux.HandleFunc("POST "+signInPath, func(w http.ResponseWriter, r *http.Request) {
		url, err := make(r.Context())
		if err != nil {
			refuseControl(w, err)
			return
		}
		_, _ = io.WriteString(w, url+"\n")
	})
}

// SignIn requests a URL for one sign-in from the process of a folder, and prints it.
func SignIn(ctx context.Context, folder string, out io.Writer) error {
	return explainNoProcess(folder, requestControl(ctx, folder, http.MethodPost, signInPath, out))
}
