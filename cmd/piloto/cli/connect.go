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

// connect calls use with a client of the deployment that the flags, the environment or login name. Without any of
// them it is this machine: the process that has the data folder, or else this command, which opens the folder for as
// long as use takes.
func (a *app) connect(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	origin, token, err := a.target()
	if err == nil && origin != here && token == "" {
		err = &exitError{code: Unauthenticated, text: a.text("cli.no_token", "url", origin)}
	}
	if err != nil {
		return err
	}
	return a.reach(ctx, use)
}

// reach does the same, also without a token.
func (a *app) reach(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	origin, token, err := a.target()
	switch {
	case err != nil:
		return err
	case origin != here:
		if err := a.needsOwnFolder(); err != nil {
			return err
		}
		c := client.New(origin, token, string(a.tag))
		c.Live = a.liveOf(origin)
		return use(ctx, c)
	}
	data, err := a.dataFolder()
	if err != nil {
		return err
	}
	found, err := process.Find(ctx, data)
	switch {
	case err == nil:
		if err := a.needsOwnFolder(); err != nil {
			return err
		}
		return use(ctx, client.New(found.Origin, found.Token, string(a.tag)))
	case !errors.Is(err, process.ErrNoProcess):
		return err
	}
	if _, err := os.Stat(data); err != nil && a.global.at != here {
		return &exitError{code: Unreachable, text: a.text("cli.nowhere", "data", data)}
	}
	used := false
	err = a.open(ctx, func(ctx context.Context, c *client.Client) error {
		used = true
		return use(ctx, c)
	})
	if err == nil || used || ctx.Err() != nil {
		return err
	}
	for range 20 { // another command may have opened the folder meanwhile
		if found, findErr := process.Find(ctx, data); findErr == nil {
			return use(ctx, client.New(found.Origin, found.Token, string(a.tag)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// target returns the address of the deployment, or here, and the token for it.
func (a *app) target() (origin, token string, err error) {
	at, name := a.global.at, a.global.profile
	switch {
	case at != "" && name != "":
		return "", "", usage(refusal("cli.wrong.two_deployments"))
	case at == here:
		return here, "", nil
	}
	known, err := a.readProfiles()
	if err != nil {
		return "", "", err
	}
	if name != "" {
		p, ok := known.Known[name]
		if !ok {
			return "", "", usage(refusal("cli.no_profile", "name", name))
		}
		origin, err = originOf(p.Origin)
		return origin, p.Token, err
	}
	if at == "" {
		if p, ok := known.Known[known.Current]; ok {
			origin, err = originOf(p.Origin)
			return origin, p.Token, err
		}
		return here, "", nil
	}
	if at, err = originOf(at); err != nil {
		return "", "", err
	}
	if token = a.getenv("PILOTO_TOKEN"); token != "" {
		return at, token, nil
	}
	for _, p := range known.Known { // a token goes only where it was logged in
		if p.Origin == at {
			return at, p.Token, nil
		}
	}
	return at, "", nil
}

// liveOf returns where the socket of a deployment is, as login stored it; "" is its own address.
func (a *app) liveOf(origin string) string {
	known, err := a.readProfiles()
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
func (a *app) open(ctx context.Context, use func(ctx context.Context, c *client.Client) error) error {
	settings, err := process.SettingsFrom(a.ownSettings())
	if err != nil {
		return usage(err)
	}
	log, err := a.ownLog()
	if err != nil {
		return usage(err)
	}
	data, err := a.makeData()
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
		Ready: func(at process.Address) { a.keepData(data); ready <- at },
	}
	if settings.Demo && last != "" && o.Addr != last {
		a.say(a.text("cli.demo_off", "addr", last))
	}
	go func() { ended <- process.Serve(serving, o, settings, io.Discard) }()
	select {
	case at := <-ready:
		err = use(ctx, client.New(at.Origin, at.Token, string(a.tag)))
	case err := <-ended:
		return err
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	return errors.Join(err, <-ended)
}

// ownSettings returns the environment of the folder that this command opens, with the flags over it.
func (a *app) ownSettings() func(string) string {
	getenv := a.getenv
	if a.global.apiBase != "" {
		getenv = with(getenv, "OPENAI_BASE_URL", a.global.apiBase)
	}
	if a.global.logLevel != "" {
		getenv = with(getenv, "LOG_LEVEL", a.global.logLevel)
	}
	return getenv
}

// ownLog returns the log of the folder that this command opens. -vvv also writes it to stderr.
func (a *app) ownLog() (io.Writer, error) {
	var also io.Writer
	if a.global.verbose >= 3 {
		also = a.errOut
	}
	if a.global.logFile == "" {
		return process.NewLog(a.global.data, also), nil
	}
	file, err := os.OpenFile(a.global.logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil || also == nil {
		return file, err
	}
	return io.MultiWriter(file, also), nil
}

// needsOwnFolder refuses flags that count only where this command opens the data folder itself.
func (a *app) needsOwnFolder() error {
	for name, value := range map[string]string{"api-base": a.global.apiBase, "log-level": a.global.logLevel, "log-file": a.global.logFile} {
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
