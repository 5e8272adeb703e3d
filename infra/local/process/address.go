package process

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"slices"
	"syscall"
)

// addressPath is the path of the control socket that returns the address of the process.
const addressPath = "/address"

// Address is where the process of a data folder is reached, and the token of the owner of the folder.
type Address struct {
	Origin string `json:"origin"` // http://127.0.0.1:8080
	Token  string `json:"token"`
}

// ErrNoProcess means that no process has the data folder.
var ErrNoProcess = errors.New("no process has the data folder")

// serveAddress responds on the control socket with the address. Who can connect to it can also read the token's file.
func (c *control) serveAddress(a Address) {
	c.mux.HandleFunc("GET "+addressPath, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(a)
	})
}

// Find returns the address of the process that has a folder. The error is ErrNoProcess when there is none.
func Find(ctx context.Context, folder string) (a Address, err error) {
	var text bytes.Buffer
	if err := requestControl(ctx, folder, http.MethodGet, addressPath, &text); err != nil {
		if isNoProcess(err) {
			return a, ErrNoProcess
		}
		return a, err
	}
	if err := json.Unmarshal(text.Bytes(), &a); err != nil {
		return Address{}, err
	}
	if !isHere(a.Origin) {
		return Address{}, refusal("up.elsewhere", "folder", folder, "origin", a.Origin)
	}
	return a, nil
}

// isHere reports whether an origin is at an address of this machine. A request to the process of a folder goes nowhere
// else, the process that answers on its control socket.
func isHere(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" || u.User != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	if ip == nil || ip.IsLoopback() {
		return ip != nil
	}
	own, err := net.InterfaceAddrs()
	return err == nil && slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// isNoProcess reports whether an error of the control socket means that no process has the folder.
func isNoProcess(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
