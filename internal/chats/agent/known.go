package agent

import (
	"context"
	"slices"

	"piloto/internal/ground/fault"
	"piloto/internal/ground/ids"
	"piloto/internal/tools/tool"
)

// ProviderNamer names the providers that an account can choose a model of.
type ProviderNamer interface {
	ProviderNames(ctx context.Context, account ids.Account) ([]string, error)
}

// Known reads which services and providers an account has; a loop or a job may name only these.
type Known struct {
	Services  tool.ServerLister
	Providers ProviderNamer
}

// Check returns the problems of ids of services and of an assistant, which may be nil: those that the account does not have.
func (k Known) Check(ctx context.Context, account ids.Account, services []string, a *Assistant) (wrong []fault.Field, err error) {
	if len(services) > 0 {
		known, err := k.Services.Servers(ctx, account)
		if err != nil {
			return nil, err
		}
		for i, id := range services {
			if !slices.ContainsFunc(known, func(s tool.Server) bool { return s.ID == id && !s.IsAgent() }) {
				wrong = append(wrong, fieldError("mcp.not_found", "servers", i))
			}
		}
	}
	if a != nil {
		known, err := k.Providers.ProviderNames(ctx, account)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(known, a.Provider) {
			wrong = append(wrong, fieldError("unknown_provider", "assistant", "provider"))
		}
	}
	return wrong, nil
}
