package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"piloto/internal/ground/fault"
)

// controlSocket is the Unix socket on which the process of a data folder takes requests. Only the
// owner of the folder can connect.
const controlSocket = "control.sock"

const (
	maxSocketPath      = 100              // the system allows 104 or 108 bytes
	backupPath         = "/backup"        // its response is the archive
	backupWriteTimeout = 30 * time.Second // for each write: during the backup the sent data cannot be replaced
)

// control serves the control socket of a folder.
type control struct {
	server *http.Server
	mux    *http.ServeMux
	path   string
}

// openControl starts to serve the control socket. The caller must hold the data file, because an
// existing socket is then a leftover and is replaced.
func openControl(folder string, e *engines, log *slog.Logger) (*control, error) {
	if err := removeUnfinished(folder); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, controlSocket)
	listener, err := listenPrivate(folder, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+backupPath, func(w http.ResponseWriter, r *http.Request) {
		to := deadlineWriter{w, http.NewResponseController(w)}
		if err := writeArchive(folder, e.store, pauses{e.Secrets.Hold, e.Objects.Hold}, to); err != nil {
			log.Error("backup.failed", "error", err)
			panic(http.ErrAbortHandler) // the incomplete response must not look complete
		}
		log.Info("backup.sent")
	})
	c := &control{mux: mux, path: path, server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

func (c *control) close() error {
	err := c.server.Close() // a backup under way is interrupted, and its file is removed
	if removeErr := os.Remove(c.path); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// deadlineWriter gives each write its own deadline.
type deadlineWriter struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p deadlineWriter) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(backupWriteTimeout)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// listenPrivate listens on a socket that only the owner can connect to at any moment. The socket is
// made in a folder with mode 0700, and is moved to path after its mode is set. It replaces the
// socket of a killed process.
func listenPrivate(folder, path string) (*net.UnixListener, error) {
	private, err := os.MkdirTemp(folder, ".control-") // with mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }()
	made := filepath.Join(private, "s")
	var listener *net.UnixListener
	err = withShortPath(made, func(short string) (err error) {
		listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(made, 0o600)
	if err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return listener, nil
}

// withShortPath calls use with a path that is short enough for a socket. A long path goes through a
// link in a folder with mode 0700.
func withShortPath(path string, use func(short string) error) error {
	if len(path) <= maxSocketPath {
		return use(path)
	}
	folder, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return err
	}
	private, err := os.MkdirTemp("", "p") // with mode 0700
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(private) }()
	link := filepath.Join(private, "d")
	if err := os.Symlink(folder, link); err != nil {
		return err
	}
	return use(filepath.Join(link, filepath.Base(path)))
}

// refused is the answer of the control socket to a request that is wrong: the sentence, in no language yet.
type refused struct {
	Code string            `json:"code"`
	Args map[string]string `json:"args"`
}

// refuseControl answers a request of the control socket whose error is err.
func refuseControl(w http.ResponseWriter, err error) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(refused{f.Code, f.Args})
}

// requestBackup requests the archive from the process of a folder, and writes it to w.
func requestBackup(ctx context.Context, folder string, w io.Writer) error {
	return requestControl(ctx, folder, http.MethodGet, backupPath, w)
}

// requestControl sends a request to the process of a folder, and writes its response to w.
func requestControl(ctx context.Context, folder, method, path string, w io.Writer) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = withShortPath(filepath.Join(folder, controlSocket), func(short string) (err error) {
			conn, err = new(net.Dialer).DialContext(ctx, "unix", short)
			return err
		})
		return conn, err
	}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, method, "http://control"+path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		var told refused
		if answer.StatusCode == http.StatusBadRequest && json.Unmarshal(text, &told) == nil {
			return &fault.Error{Kind: fault.Invalid, Code: told.Code, Args: told.Args}
		}
		return fmt.Errorf("it answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	_, err = io.Copy(w, answer.Body)
	return err
}
