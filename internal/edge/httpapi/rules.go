package httpapi

import (
	"context"
	"net/http"
	"time"

	"piloto/internal/ground/clip"
	"piloto/internal/ground/ids"
	"piloto/internal/runs/rule"
)

// Rules stores the account's rules.
type Rules interface {
	rule.Reader
	// SetRules replaces the rules if their version is still seen; rule.ErrMoved.
	SetRules(ctx context.Context, account ids.Account, seen int, set rule.Set) error
}

func (a *api) rules() {
	r := ruleHandler{a.config, a.config.Rules}
	register(a, operation{
		method: http.MethodGet, path: "/api/rules", id: "readRules", access: withChat,
		summary: "Read what the account lets plans do",
	}, r.read)
	register(a, operation{
		method: http.MethodPut, path: "/api/rules", id: "setRules", access: withAdmin,
		summary:  "Set what the account lets plans do, whole; deny wins over ask, and ask over allow",
		failures: []int{409, 413, 415, 422},
	}, r.set)
}

// RulesRequest is the body that sets the rules.
type RulesRequest struct {
	Version int           `json:"version" minimum:"0" doc:"of the rules as they were read; 0 when there were none"`
	Rules   []RuleRequest `json:"rules" nullable:"false" maxItems:"100"`
}

// RuleRequest is a rule that a person wrote.
type RuleRequest struct {
	ID      string      `json:"id,omitempty" doc:"a new one is given when absent"`
	Effect  rule.Effect `json:"effect" enum:"allow,ask,deny"`
	Server  string      `json:"server,omitempty" doc:"glob of a service's name or id; any when absent"`
	Method  string      `json:"method,omitempty" doc:"glob; any when absent"`
	Path    string      `json:"path,omitempty" doc:"glob of a concrete path, or of a tool's name: * within a segment, ** across, ? one character; any when absent"`
	Over    *rule.Over  `json:"over,omitempty" doc:"of ask and deny: only above this"`
	Another bool        `json:"another,omitempty" doc:"of ask: not by whoever confirmed"`
	Minutes int         `json:"minutes,omitempty" doc:"of ask: how long it waits, at most a day; a day when absent"`
	Reason  string      `json:"reason" minLength:"1" doc:"a sentence for people, at most 200 characters"`
}

// RuleSet is the account's rules.
type RuleSet struct {
	Version   int         `json:"version" doc:"what the next change must name"`
	Rules     []rule.Rule `json:"rules" nullable:"false"`
	By        string      `json:"by,omitempty" doc:"who changed them last"`
	UpdatedAt *time.Time  `json:"updated_at,omitempty"`
}

func showRules(s rule.Set) *reply[RuleSet] {
	return answer(RuleSet{Version: s.Version, Rules: list(s.Rules), By: s.By, UpdatedAt: optionalTime(s.UpdatedAt)})
}

type ruleHandler struct {
	config Config
	store  Rules
}

func (r ruleHandler) read(ctx context.Context, _ *nothing) (*reply[RuleSet], error) {
	set, err := r.store.Rules(ctx, caller(ctx).Account)
	if err != nil {
		return nil, err
	}
	return showRules(set), nil
}

func (r ruleHandler) set(ctx context.Context, in *struct{ Body RulesRequest }) (*reply[RuleSet], error) {
	who, now := caller(ctx), r.config.Now().UTC()
	set := rule.Set{Version: in.Body.Version, By: who.User, UpdatedAt: now}
	for _, one := range in.Body.Rules {
		if one.ID == "" {
			one.ID = r.config.NewID(now)
		}
		one.Reason = clip.Line(one.Reason)
		set.Rules = append(set.Rules, rule.Rule(one))
	}
	if wrong := set.Check(); len(wrong) > 0 {
		return nil, rule.ErrRules.At(wrong...)
	}
	if err := r.store.SetRules(ctx, who.Account, in.Body.Version, set); err != nil {
		return nil, err
	}
	set.Version++
	return showRules(set), nil
}
