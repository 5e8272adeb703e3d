package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"piloto/internal/access/auth"
	"piloto/internal/chats/agent"
	"piloto/internal/chats/usage"
	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// Ops are the services of /health, /config and /metrics. Only the function records serves them.
type Ops struct {
	Version   string
	Counted   Counted
	Servers   tool.ServerLister
	Breakers  agent.BreakerLister // of the agents among them. An agent without failures has none
	Effective Effective
}

// Counted reads the totals of an account's turns.
type Counted interface {
	Totals(ctx context.Context, account ids.Account) (usage.Totals, error)
}

// Effective is the configuration in force, in the order of the response.
type Effective []Setting

// Setting is one value of the configuration. The value of a secret is never shown.
type Setting struct {
	Name   string // openai_model; document 001's name, where it has one
	Group  string // openai
	Value  string
	Secret bool
}

type operations struct {
	config Config
	checks []Check
}

// ops registers the routes for operators of the service.
func (a *api) ops(checks []Check) {
	o := operations{a.config, checks}
	register(a, operation{
		method: http.MethodGet, path: "/health", id: "health", access: open,
		summary: "Whether the service and what it depends on answer; with a token also how the account's agents do", failures: []int{503},
	}, o.health)
	register(a, operation{
		method: http.MethodGet, path: "/config", id: "config", access: withAdmin,
		summary: "The configuration in force, without secrets",
	}, o.effective)
	a.metrics(o)
}

// Health is the state of the service and its dependencies.
type Health struct {
	Status  string                 `json:"status" enum:"ok,degraded,unavailable" doc:"degraded: an agent is not called for now, or is being tried"`
	Version string                 `json:"version,omitempty"`
	Checks  map[string]string      `json:"checks" doc:"ok; unavailable: it does not answer; unwritable: it can be read alone, as when a disk is full"`
	Agents  map[string]AgentHealth `json:"agents,omitempty" doc:"the account's, by name; with a token alone"`
}

// AgentHealth is the state of an agent's breaker.
type AgentHealth struct {
	State    string     `json:"state" enum:"closed,open,half_open"`
	Failures int        `json:"failures" doc:"in a row"`
	RetryAt  *time.Time `json:"retry_at,omitempty" doc:"when it is called again"`
}

type healthReply struct {
	Status int
	Body   Health
}

func (o operations) health(ctx context.Context, _ *nothing) (*healthReply, error) {
	within, cancel := context.WithTimeout(ctx, pingTimeout)
	defer cancel()
	failed := make([]error, len(o.checks))
	var agents map[string]AgentHealth
	var unread error
	var probes sync.WaitGroup // each failure is reported below
	probes.Go(func() {
		if p, ok := auth.FromContext(ctx); ok && p.Allows(auth.ScopeChat) {
			agents, unread = o.agents(within, p.Account)
		}
	})
	for i, c := range o.checks {
		probes.Go(func() { failed[i] = c.Ping(within) })
	}
	probes.Wait()
	out := &healthReply{Status: http.StatusOK, Body: Health{Status: "ok", Version: o.config.Ops.Version, Checks: map[string]string{}, Agents: agents}}
	for _, a := range agents {
		if a.State != agent.Closed.String() {
			out.Body.Status = "degraded"
		}
	}
	if unread != nil {
		o.config.Log.WarnContext(ctx, "health.agents_unread", "error", unread)
	}
	for i, c := range o.checks {
		out.Body.Checks[c.Name] = "ok"
		if failed[i] == nil {
			continue
		}
		out.Status, out.Body.Status, out.Body.Checks[c.Name] = http.StatusServiceUnavailable, "unavailable", "unavailable"
		if errors.Is(failed[i], fault.ErrStorage) { // the store logs that itself
			out.Body.Checks[c.Name] = "unwritable"
			continue
		}
		o.config.Log.WarnContext(ctx, "health.failed", "check", c.Name, "error", failed[i])
	}
	return out, nil
}

// agents returns the state of each agent of an account, by name.
func (o operations) agents(ctx context.Context, account ids.Account) (map[string]AgentHealth, error) {
	var servers []tool.Server
	var breakers []agent.Breaker
	var reads errgroup.Group
	reads.Go(func() (err error) { servers, err = o.config.Ops.Servers.Servers(ctx, account); return })
	reads.Go(func() (err error) { breakers, err = o.config.Ops.Breakers.Breakers(ctx, account); return })
	if err := reads.Wait(); err != nil {
		return nil, err
	}
	now, out := o.config.Now(), map[string]AgentHealth{}
	for _, s := range servers {
		if !s.IsAgent() {
			continue
		}
		h := AgentHealth{State: agent.Closed.String()}
		if i := slices.IndexFunc(breakers, func(b agent.Breaker) bool { return b.Agent == s.ID }); i >= 0 {
			b := breakers[i]
			h = AgentHealth{State: b.Phase(now).String(), Failures: len(b.Failed)}
			if at := b.RetryAt(); b.Phase(now) != agent.Closed && !at.IsZero() {
				h.RetryAt = optionalTime(at)
			}
		}
		out[s.Name] = h
	}
	return out, nil
}

// Configured is the configuration in force.
type Configured struct {
	Version string            `json:"version,omitempty"`
	Groups  []ConfiguredGroup `json:"groups" nullable:"false"`
}

// ConfiguredGroup is the settings of one area.
type ConfiguredGroup struct {
	Name     string              `json:"name"`
	Settings []ConfiguredSetting `json:"settings" nullable:"false"`
}

// ConfiguredSetting is one setting, without secrets.
type ConfiguredSetting struct {
	Name   string `json:"name"`
	Value  string `json:"value" doc:"of a secret that is set: •••• alone"`
	Set    bool   `json:"set"`
	Secret bool   `json:"secret,omitempty"`
}

func (o operations) effective(context.Context, *nothing) (*reply[Configured], error) {
	out := Configured{Version: o.config.Ops.Version, Groups: []ConfiguredGroup{}}
	at := map[string]int{}
	for _, s := range o.config.Ops.Effective {
		i, ok := at[s.Group]
		if !ok {
			i = len(out.Groups)
			at[s.Group] = i
			out.Groups = append(out.Groups, ConfiguredGroup{Name: s.Group})
		}
		out.Groups[i].Settings = append(out.Groups[i].Settings, s.view())
	}
	return answer(out), nil
}

// mask replaces a secret.
const mask = "••••"

// view returns the setting for a response. A secret is recognised by its declaration or by its name; a URL is shown
// without user and query.
func (s Setting) view() ConfiguredSetting {
	out := ConfiguredSetting{Name: s.Name, Value: s.Value, Set: s.Value != "", Secret: s.Secret || isSecretName(s.Name)}
	if out.Secret && out.Set {
		out.Value = mask
		return out
	}
	if u, err := url.Parse(s.Value); err == nil && u.Scheme != "" && u.Host != "" && (u.User != nil || u.RawQuery != "") {
		u.User = nil
		if u.RawQuery != "" {
			u.RawQuery = mask
		}
		out.Value = u.String()
	}
	return out
}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	for _, end := range []string{"key", "secret", "token", "password"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
