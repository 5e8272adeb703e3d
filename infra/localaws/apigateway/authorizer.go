package apigateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxKnown is the greatest number of stored answers of the authorizer.
const maxKnown = 4096

// verdict is the authorizer's answer for some sources.
type verdict struct {
	allowed bool
	context map[string]any
	until   time.Time
}

// question is the event of the authorizer.
type question struct {
	*event
	Type     string   `json:"type"`
	RouteARN string   `json:"routeArn"`
	Sources  []string `json:"identitySource"`

	// The authorizer gets no body.
	Body   string `json:"body,omitempty"`
	Base64 *bool  `json:"isBase64Encoded,omitempty"`
}

// authorize identifies the caller. It returns the context of the authorizer's answer, or the status
// of the refusal.
func (g *Gateway) authorize(ctx context.Context, e *event, method string) (authContext map[string]any, refused int) {
	a := g.options.Authorizer
	var sources []string
	for _, source := range a.Sources {
		value := g.source(e, source)
		if value == "" {
			return nil, http.StatusUnauthorized
		}
		sources = append(sources, value)
	}
	key, now := strings.Join(sources, "\x00"), g.options.Now()
	keeps := a.Life > 0 && len(sources) > 0
	if v, ok := g.recall(key, now); keeps && ok {
		return v.outcome()
	}
	v, err := g.ask(ctx, question{
		event: e, Type: "REQUEST", Sources: sources,
		RouteARN: strings.Join([]string{"arn:aws:execute-api", g.options.Region, g.options.Account, g.options.API + "/" + e.Context.Stage + "/" + method + e.RawPath}, ":"),
	})
	if err != nil {
		g.options.Log.ErrorContext(ctx, "apigateway.authorizer", "route", e.RouteKey, "request_id", e.Context.RequestID, "error", err)
		return nil, http.StatusInternalServerError
	}
	if keeps {
		v.until = now.Add(a.Life)
		g.keep(key, v, now)
	}
	return v.outcome()
}

func (v verdict) outcome() (map[string]any, int) {
	if !v.allowed {
		return nil, http.StatusForbidden
	}
	return v.context, 0
}

func (g *Gateway) ask(ctx context.Context, q question) (verdict, error) {
	raw, err := json.Marshal(q)
	if err != nil {
		return verdict{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, AuthWait)
	defer cancel()
	out, err := g.options.Invoke(ctx, g.options.Authorizer.Function, raw)
	if err != nil {
		return verdict{}, err
	}
	var answer struct {
		Allowed *bool          `json:"isAuthorized"`
		Context map[string]any `json:"context"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return verdict{}, err
	}
	if answer.Allowed == nil {
		return verdict{}, errors.New("the authorizer did not say isAuthorized")
	}
	return verdict{allowed: *answer.Allowed, context: answer.Context}, nil
}

// source returns the value of an identity source, "" when the request has none.
func (g *Gateway) source(e *event, name string) string {
	if header, ok := strings.CutPrefix(name, "$request.header."); ok {
		return e.Headers[strings.ToLower(header)]
	}
	if parameter, ok := strings.CutPrefix(name, "$request.querystring."); ok {
		values, _ := url.ParseQuery(e.RawQuery)
		return values.Get(parameter)
	}
	if variable, ok := strings.CutPrefix(name, "$stageVariables."); ok {
		return g.options.Variables[variable]
	}
	switch name {
	case "$context.routeKey":
		return e.RouteKey
	case "$context.stage":
		return e.Context.Stage
	case "$context.identity.sourceIp":
		return e.Context.HTTP.SourceIP
	case "$context.identity.userAgent":
		return e.Context.HTTP.UserAgent
	case "$context.domainName":
		return e.Context.DomainName
	}
	return ""
}

func (g *Gateway) recall(key string, now time.Time) (verdict, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok := g.known[key]
	return v, ok && now.Before(v.until)
}

// keep stores an answer, and removes expired ones once there are many.
func (g *Gateway) keep(key string, v verdict, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.known) >= maxKnown {
		for k, old := range g.known {
			if !now.Before(old.until) || len(g.known) >= maxKnown {
				delete(g.known, k)
			}
		}
	}
	g.known[key] = v
}
