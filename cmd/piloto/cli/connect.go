package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"piloto/cmd/piloto/client"
	"piloto/infra/local/process"
)

// here is the value of --at for the data folder of this machine.
const here = "here"

// deployment is the deployment that a command works with: the flags that name it, and its client.
type deployment struct {
	con     *console
	folders *folders
	at      string // its URL, or here; "": see connect
	profile string

	// Settings of the data folder that this command opens itself.
	apiBase, logLevel, logFile string
}

// connect calls use with a client of the deployment that the flags, the environment or login name. Without any of
// them it is this machine: the process that has the data folder, or else this command, which opens the folder for as
// long as use takes.
func (d *deployment) connect(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	to, err := d.target()
	if err == nil && to.Origin != here && to.Token == "" {
		err = &exitError{code: Unauthenticated, text: d.con.text("cli.no_token", "url", to.Origin)}
	}
	if err != nil {
		return err
	}
	return d.reach(ctx, use)
}

// reach does the same, also without a token.
func (d *deployment) reach(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	to, err := d.target()
	switch {
	case err != nil:
		return err
	case to.Origin != here:
		if err := d.needsOwnFolder(); err != nil {
			return err
		}
		c := client.New(to, string(d.con.tag))
		c.Live = d.liveOf(to.Origin)
		return use(ctx, c)
	}
	data, err := d.folders.dataFolder()
	if err != nil {
		return err
	}
	found, err := process.Find(ctx, data)
	switch {
	case err == nil:
		if err := d.needsOwnFolder(); err != nil {
			return err
		}
		return use(ctx, client.New(client.Target{Origin: found.Origin, Token: found.Token}, string(d.con.tag)))
	case !errors.Is(err, process.ErrNoProcess):
		return err
	}
	if _, err := os.Stat(data); err != nil && d.at != here {
		return &exitError{code: Unreachable, text: d.con.text("cli.nowhere", "data", data)}
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
			return use(ctx, client.New(client.Target{Origin: found.Origin, Token: found.Token}, string(d.con.tag)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// target returns the deployment, whose origin may be here, with the token for it.
func (d *deployment) target() (to client.Target, err error) {
	at, name := d.at, d.profile
	switch {
	case at != "" && name != "":
		return to, usage(refusal("cli.wrong.two_deployments"))
	case at == here:
		return client.Target{Origin: here}, nil
	}
	known, err := d.readProfiles()
	if err != nil {
		return to, err
	}
	if name != "" {
		p, ok := known.Known[name]
		if !ok {
			return to, usage(refusal("cli.no_profile", "name", name))
		}
		origin, err := originOf(p.Origin)
		return client.Target{Origin: origin, Token: p.Token}, err
	}
	if at == "" {
		if p, ok := known.Known[known.Current]; ok {
			origin, err := originOf(p.Origin)
			return client.Target{Origin: origin, Token: p.Token}, err
		}
		return client.Target{Origin: here}, nil
	}
	if at, err = originOf(at); err != nil {
		return to, err
	}
	if token := d.con.getenv("PILOTO_TOKEN"); token != "" {
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
func (d *deployment) liveOf(origin string) string {
	known, err := d.readProfiles()
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

// usualAddress is where the process of this machine listens, when nobody else does.
const usualAddress = "127.0.0.1:8080"

// open opens the data folder, and serves it while use takes. Runs that are not over by then go on at the next start.
func (d *deployment) open(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	settings, err := process.SettingsFrom(d.ownSettings())
	if err != nil {
		return usage(err)
	}
	log, err := d.ownLog()
	if err != nil {
		return usage(err)
	}
	data, err := d.folders.makeData()
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ready := make(chan process.Address, 1)
	ended := make(chan error, 1)
	last := process.ServedAt(data)
	o := process.Options{
		Addr: freeAddress(ctx, last, usualAddress), Data: data, Log: log, Passing: true,
		Ready: func(at process.Address) { d.folders.keepData(data); ready <- at },
	}
	if settings.Demo && last != "" && o.Addr != last {
		d.con.report("cli.demo_off", "addr", last)
	}
	go func() { ended <- process.Serve(serving, o, settings, io.Discard) }()
	select {
	case at := <-ready:
		err = use(ctx, client.New(client.Target{Origin: at.Origin, Token: at.Token}, string(d.con.tag)))
	case err := <-ended:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	return errors.Join(err, <-ended)
}

// ownSettings returns the environment of the folder that this command opens, with the flags over it.
func (d *deployment) ownSettings() func(string) string {
	getenv := d.con.getenv
	if d.apiBase != "" {
		getenv = variable{name: "OPENAI_BASE_URL", value: d.apiBase}.over(getenv)
	}
	if d.logLevel != "" {
		getenv = variable{name: "LOG_LEVEL", value: d.logLevel}.over(getenv)
	}
	return getenv
}

// ownLog returns the log of the folder that this command opens. -vvv also writes it to stderr.
func (d *deployment) ownLog() (io.Writer, error) {
	var also io.Writer
	if d.con.verbose >= 3 {
		also = d.con.errOut
	}
	if d.logFile == "" {
		return process.NewLog(d.folders.data, also), nil
	}
	file, err := os.OpenFile(d.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil || also == nil {
		return file, err
	}
	return io.MultiWriter(file, also), nil
}

// needsOwnFolder refuses flags that count only where this command opens the data folder itself.
func (d *deployment) needsOwnFolder() error {
	for name, value := range map[string]string{"api-base": d.apiBase, "log-level": d.logLevel, "log-file": d.logFile} {
		if value != "" {
			return usage(refusal("cli.own_folder", "flag", "--"+name))
		}
	}
	return nil
}

// freeAddress returns the first of some addresses at which nobody listens, and else any. An empty one counts as taken.
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
