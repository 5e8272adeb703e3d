package process

import (
	"context"
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
)

// controlSocket is where the process that has a data folder is asked for things,
// by whoever may read the folder's files anyway: a file of its owner alone.
const controlSocket = "control.sock"

const (
	maxSocketPath  = 100              // of 104 or 108 bytes, by the system
	backupPath     = "/backup"        // answers with the archive
	backupPatience = 30 * time.Second // for each piece that is sent: what is sent is kept from being replaced
)

// control serves the control socket of a folder.
type control struct {
	server *http.Server
	mux    *http.ServeMux
	path   string
}

// openControl begins to serve; the data file must be held, so that a socket that
// is there is nobody's.
func openControl(folder string, e *engines, log *slog.Logger) (*control, error) {
	if err := sweep(folder); err != nil {
		return nil, err
	}
	path := filepath.Join(folder, controlSocket)
	listener, err := listenAlone(folder, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+backupPath, func(w http.ResponseWriter, r *http.Request) {
		to := patient{w, http.NewResponseController(w)}
		if err := writeArchive(folder, e.store, e.Secrets.Hold, to); err != nil {
			log.Error("backup.failed", "error", err)
			panic(http.ErrAbortHandler) // what was sent must not look whole
		}
		log.Info("backup.sent")
	})
	c := &control{mux: mux, path: path, server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn)}}
	go func() { _ = c.server.Serve(listener) }()
	return c, nil
}

func (c *control) close() error {
	err := c.server.Close() // a backup under way is cut off, and not kept
	if removeErr := os.Remove(c.path); !errors.Is(removeErr, os.ErrNotExist) {
		err = errors.Join(err, removeErr)
	}
	return err
}

// patient gives each piece its time.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

func (p patient) Write(b []byte) (int, error) {
	if err := p.control.SetWriteDeadline(time.Now().Add(backupPatience)); err != nil {
		return 0, err
	}
	return p.ResponseWriter.Write(b)
}

// listenAlone listens where only the owner can connect, at any moment: the socket
// is made in a folder of the owner alone, and moves to its place when its mode
// is set. It takes the place of one that a killed process left.
func listenAlone(folder, path string) (*net.UnixListener, error) {
	private, err := os.MkdirTemp(folder, ".control-") // with mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }()
	made := filepath.Join(private, "s")
	var listener *net.UnixListener
	err = shortened(made, func(short string) (err error) {
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

// shortened hands use a path of a file that the system takes for a socket: a long
// one through a link in a folder of the owner alone.
func shortened(path string, use func(short string) error) error {
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

// requestBackup has the process of a folder send its archive.
func requestBackup(ctx context.Context, folder string, w io.Writer) error {
	return askControl(ctx, folder, http.MethodGet, backupPath, w)
}

// askControl asks the process of a folder for something, and writes what it answers.
func askControl(ctx context.Context, folder, method, path string, w io.Writer) error {
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (conn net.Conn, err error) {
		err = shortened(filepath.Join(folder, controlSocket), func(short string) (err error) {
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
		if answer.StatusCode == http.StatusBadRequest { // a sentence for whoever asked
			return errors.New(strings.TrimSpace(string(text)))
		}
		return fmt.Errorf("it answered %s: %s", answer.Status, strings.TrimSpace(string(text)))
	}
	_, err = io.Copy(w, answer.Body)
	return err
}
