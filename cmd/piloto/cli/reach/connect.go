// Package reach owns the way of a command to its deployment: the data folders that this person made or named, the
// deployments that login stored, and the client. Commands of this kind are completed here.
package reach

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"piloto/cmd/piloto/cli/console"
	"piloto/cmd/piloto/cli/ending"
	"piloto/cmd/piloto/client"
	"piloto/infra/local/process"
)

// Here is the value of --at for the data folder of this machine.
const Here = "here"

// Deployment is the deployment that a command works with: the flags that name it, and its client.
type Deployment struct {
	Con     *console.Console
	Folders *Folders
	At      string // its URL, or here; "": see Connect
	Profile string

	// Settings of the data folder that this command opens itself.
	APIBase, LogLevel, LogFile string
}

// Connect calls use with a client of the deployment that the flags, the environment or login name. Without any of
// them it is this machine: the process that has the data folder, or else this command, which opens the folder for as
// long as use takes.
func (d *Deployment) Connect(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	to, err := d.Target()
	if err == nil && to.Origin != Here && to.Token == "" {
		err = &ending.Error{Code: ending.Unauthenticated, Text: d.Con.Text("cli.no_token", "url", to.Origin)}
	}
	if err != nil {
		return err
	}
	return d.Reach(ctx, use)
}

// Reach does the same as Connect, also without a token.
func (d *Deployment) Reach(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	to, err := d.Target()
	switch {
	case err != nil:
		return err
	case to.Origin != Here:
		if err := d.needsOwnFolder(); err != nil {
			return err
		}
		c := client.New(to, string(d.Con.Tag))
		c.Live = d.liveOf(to.Origin)
		return use(ctx, c)
	}
	data, err := d.Folders.DataFolder()
	if err != nil {
		return err
	}
	found, err := process.Find(ctx, data)
	switch {
	case err == nil:
		if err := d.needsOwnFolder(); err != nil {
			return err
		}
		return use(ctx, client.New(client.Target{Origin: found.Origin, Token: found.Token}, string(d.Con.Tag)))
	case !errors.Is(err, process.ErrNoProcess):
		return err
	}
	if _, err := os.Stat(data); err != nil && d.At != Here {
		return &ending.Error{Code: ending.Unreachable, Text: d.Con.Text("cli.nowhere", "data", data)}
	}
	used := false
	err = d.open(ctx, func(ctx context.Context, c *client.Client) error {
		used = true
		return use(ctx, c)
	})
	if err == nil || used || ctx.Err() != nil {
		return err
	}
	for range 20 { // another command may have opened the folder meanwhile
		if found, findErr := process.Find(ctx, data); findErr == nil {
			return use(ctx, client.New(client.Target{Origin: found.Origin, Token: found.Token}, string(d.Con.Tag)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// Target returns the deployment, whose origin may be here, with the token for it.
func (d *Deployment) Target() (to client.Target, err error) {
	at, name := d.At, d.Profile
	switch {
	case at != "" && name != "":
		return to, ending.Miswritten(ending.Refusal("cli.wrong.two_deployments"))
	case at == Here:
		return client.Target{Origin: Here}, nil
	}
	known, err := d.ReadProfiles()
	if err != nil {
		return to, err
	}
	if name != "" {
		p, ok := known.Known[name]
		if !ok {
			return to, ending.Miswritten(ending.Refusal("cli.no_profile", "name", name))
		}
		origin, err := OriginOf(p.Origin)
		return client.Target{Origin: origin, Token: p.Token}, err
	}
	if at == "" {
		if p, ok := known.Known[known.Current]; ok {
			origin, err := OriginOf(p.Origin)
			return client.Target{Origin: origin, Token: p.Token}, err
		}
		return client.Target{Origin: Here}, nil
	}
	if at, err = OriginOf(at); err != nil {
		return to, err
	}
	if token := d.Con.Getenv("PILOTO_TOKEN"); token != "" {
		return client.Target{Origin: at, Token: token}, nil
	}
	for _, p := range known.Known { // a token goes only where it was logged in
		if p.Origin == at {
			return client.Target{Origin: at, Token: p.Token}, nil
		}
	}
	return client.Target{Origin: at}, nil
}

// liveOf returns where the socket of a deployment is, as login stored it; "" is its own address.
func (d *Deployment) liveOf(origin string) string {
	known, err := d.ReadProfiles()
	if err != nil {
		return ""
	}
	for _, p := range known.Known {
		if p.Origin == origin && p.Live != "" {
			return p.Live
		}
	}
	return ""
}

// UsualAddress is where the process of this machine listens, when nobody else does.
const UsualAddress = "127.0.0.1:8080"

// open opens the data folder, and serves it while use takes. Runs that are not over by then go on at the next start.
func (d *Deployment) open(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	settings, err := process.SettingsFrom(d.ownSettings())
	if err != nil {
		return ending.Miswritten(err)
	}
	log, err := d.ownLog()
	if err != nil {
		return ending.Miswritten(err)
	}
	data, err := d.Folders.MakeData()
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ready := make(chan process.Address, 1)
	ended := make(chan error, 1)
	last := process.ServedAt(data)
	o := process.Options{
		Addr: freeAddress(ctx, last, UsualAddress), Data: data, Log: log, Passing: true,
		Ready: func(at process.Address) { d.Folders.KeepData(data); ready <- at },
	}
	if settings.Demo && last != "" && o.Addr != last {
		d.Con.Report("cli.demo_off", "addr", last)
	}
	go func() { ended <- process.Serve(serving, o, settings, io.Discard) }()
	select {
	case at := <-ready:
		err = use(ctx, client.New(client.Target{Origin: at.Origin, Token: at.Token}, string(d.Con.Tag)))
	case err := <-ended:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	return errors.Join(err, <-ended)
}

// ownSettings returns the environment of the folder that this command opens, with the flags over it.
func (d *Deployment) ownSettings() func(string) string {
	getenv := d.Con.Getenv
	if d.APIBase != "" {
		getenv = console.Variable{Name: "OPENAI_BASE_URL", Value: d.APIBase}.Over(getenv)
	}
	if d.LogLevel != "" {
		getenv = console.Variable{Name: "LOG_LEVEL", Value: d.LogLevel}.Over(getenv)
	}
	return getenv
}

// ownLog returns the log of the folder that this command opens. -vvv also writes it to stderr.
func (d *Deployment) ownLog() (io.Writer, error) {
	var also io.Writer
	if d.Con.Verbose >= 3 {
		also = d.Con.ErrOut
	}
	if d.LogFile == "" {
		return process.NewLog(d.Folders.Data, also), nil
	}
	file, err := os.OpenFile(d.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil || also == nil {
		return file, err
	}
	return io.MultiWriter(file, also), nil
}

// needsOwnFolder refuses flags that count only where this command opens the data folder itself.
func (d *Deployment) needsOwnFolder() error {
	for name, value := range map[string]string{"api-base": d.APIBase, "log-level": d.LogLevel, "log-file": d.LogFile} {
		if value != "" {
			return ending.Miswritten(ending.Refusal("cli.own_folder", "flag", "--"+name))
		}
	}
	return nil
}

// freeAddress returns the first address at which nobody listens, or any when all are taken. An empty address counts as taken.
func freeAddress(ctx context.Context, addresses ...string) string {
	for _, addr := range addresses {
		if addr == "" {
			continue
		}
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	return "127.0.0.1:0"
}

// Task is the work of a command at a deployment.
type Task func(ctx context.Context, c *client.Client, args []string) error

// Request completes a command whose work needs a deployment.
func (d *Deployment) Request(cmd *cobra.Command, do Task) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return d.Connect(cmd.Context(), func(ctx context.Context, c *client.Client) error { return do(ctx, c, args) })
	}
	return cmd
}

// Delete sends a DELETE, with a body or nil, and says that it was done.
func (d *Deployment) Delete(ctx context.Context, c *client.Client, path string, body any) error {
	if _, err := c.Raw(ctx, client.Call{Method: http.MethodDelete, Path: path, Body: body}, "application/json"); err != nil {
		return err
	}
	d.Con.Report("cli.deleted")
	return nil
}
