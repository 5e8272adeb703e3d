package boot

import (
	"context"
	"net/http"

	"piloto/internal/chats/agent"
	"piloto/internal/chats/job"
	"piloto/internal/edge/gateway"
	"piloto/internal/edge/httpapi"
	"piloto/internal/models/cache"
	"piloto/internal/runs/stepfn"
	"piloto/statemachines"
)

// Jobs is the ARN of the state machine of jobs.
type Jobs struct {
	ARN string `env:"AGENT_MACHINE_ARN,required,notEmpty"`
}

type (
	// JobsConfig is the configuration of functions/jobs.
	JobsConfig struct {
		Config
		Edge
		Platform
		Jobs
		Push
	}
	// AgentConfig is the configuration of functions/agent.
	AgentConfig struct{ Answering }
)

// StartJobs runs functions/jobs.
func StartJobs() { StartHTTP(JobRoutes) }

// JobRoutes builds functions/jobs.
func JobRoutes(w World, e Environment) (http.Handler, error) {
	c, err := read[JobsConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.site(c.Config).withPush(c.Push)
	s.http.Once = s.replays()
	jobs := s.jobs(c.Jobs)
	jobs.Known = agent.Known{Services: s.stores.Registry, Providers: s.settings(c.Platform)}
	return s.serve(httpapi.Works(s.http, jobs, s.stores.Jobs)), nil
}

// jobs returns the service of jobs.
func (s site) jobs(c Jobs) *job.Service {
	return &job.Service{
		Store: s.stores.Jobs, Chats: s.stores.Chats, Agents: s.stores.Registry, Runs: s.stores.Runs, Executions: stepfn.New(s.world.StepFunctions, c.ARN),
		IDs: s.world.IDs, Now: s.world.Now, Log: s.log, Caches: s.world.Answers != nil, AloneSince: s.world.AloneSince,
	}
}

// waking returns the site with stores whose runs resume the jobs that wait for them.
func (s site) waking() site {
	s.stores = s.stores.Waking(s.jobs(Jobs{}))
	return s
}

// Agent builds functions/agent, which makes the rounds of jobs. They have no route that times out.
func Agent(w World, e Environment, t Tools) (gateway.Function, error) {
	w.within = lambdaTime
	c, err := read[AgentConfig](e)
	if err != nil {
		return nil, err
	}
	s := w.turnSite(c.Answering)
	turns, jobs := s.turns(c.Answering, t), s.jobs(Jobs{})
	turns.Jobs = s.stores.Jobs
	if w.Answers != nil {
		turns.Paid.Models = cache.Models{Models: turns.Paid.Models, Store: w.Answers, Now: w.Now}
	}
	return task(s, func(ctx context.Context, in statemachines.JobInput) (statemachines.JobOutput, error) {
		switch in.Task {
		case statemachines.JobWait:
			return statemachines.JobOutput{}, jobs.Await(ctx, in.AccountID, in.JobID, in.Token)
		case statemachines.JobClose:
			return statemachines.JobOutput{Next: string(job.NextEnd)}, turns.CloseJob(ctx, in.AccountID, in.JobID, in.Throttled())
		default:
			next, err := turns.Round(ctx, in.AccountID, in.JobID)
			return statemachines.JobOutput{Next: string(next)}, err
		}
	}), nil
}
