package jobs

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"piloto/cmd/piloto/cli/console/consoletest"
	"piloto/cmd/piloto/cli/runs"
	"piloto/cmd/piloto/client"
	"piloto/internal/chats/job"
	"piloto/internal/edge/httpapi"
	"piloto/internal/ground/locale"
)

// TestSeveralCommandsStayBelowWhatAPersonMayAsk: eight of one person that follow jobs whose models answer each few seconds ask less than
// 1,200 times a minute. A round is read, called, told and told of, a look is one request, and each says that it is there.
func TestSeveralCommandsStayBelowWhatAPersonMayAsk(t *testing.T) {
	const round, perRound, commands, most = 4 * time.Second, 5, 8, 1200
	var p runs.Pace
	asked := int(time.Minute / stayEvery)
	for at := time.Duration(0); at < time.Minute; {
		asked += perRound
		p.Moved()
		for until := at + round; at < until; asked++ {
			at += p.Next()
		}
	}
	if asked*commands >= most {
		t.Errorf("%d requests a minute", asked*commands)
	}
	if p.Moved(); p.Next() != runs.FollowPause {
		t.Error("it is slow when something happens")
	}
}

// TestALookIsOneRequest: the events of a job are read when there are new ones.
func TestALookIsOneRequest(t *testing.T) {
	var looks, events atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		j := httpapi.Job{JobID: "01J", ChatID: "01C", Status: job.Running, Events: 1}
		var answer any
		switch {
		case strings.HasSuffix(r.URL.Path, "/events"):
			list := []httpapi.JobEvent{{Seq: 1, Type: job.EventStarted}, {Seq: 2, Type: job.EventEnded}}
			answer = httpapi.JobEventList{Events: list[events.Load():][:1]}
			events.Add(1)
		default:
			if looks.Add(1) > 3 {
				j.Status, j.Events = job.Success, 2
			}
			answer = j
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	}))
	defer s.Close()
	con, _, _ := consoletest.New(nil, "")
	con.Tag = locale.English
	j, err := newJobs(con).followJob(context.WithoutCancel(t.Context()), client.New(client.Target{Origin: s.URL, Token: "token"}, "en"), &jobTale{con: con, id: "01J"})
	if err != nil || j.Status != job.Success || events.Load() != 2 || looks.Load() != 5 {
		t.Errorf("%v %v: %d looks, %d of events", j.Status, err, looks.Load(), events.Load())
	}
}
