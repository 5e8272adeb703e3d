package turn_test

import (
	"log/slog"
	"time"

	"piloto/infra/local/fixture"
	"piloto/internal/models/eligibility"
	"piloto/internal/models/llm"
	"piloto/internal/models/paid"
)

// payer returns the service with which a turn calls models, once each.
func payer(w *fixture.World, models eligibility.Models, log *slog.Logger, decides *eligibility.Service) *paid.Service {
	retry := llm.Retry{Most: 1, Now: w.Clock, Rand: func(time.Duration) time.Duration { return 0 }}
	return &paid.Service{Eligibility: decides, Credit: w.Credit(), Models: models, Retry: retry, Log: log}
}
