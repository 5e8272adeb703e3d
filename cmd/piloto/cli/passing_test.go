package cli

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"

	"piloto/cmd/piloto/cli/ending"
	"piloto/infra/local/process"
)

// TestACommandLosesNoPlanOfTheDemonstration: it opens the folder of a process that has stopped, and a waiting plan can be
// confirmed after the next start, also when another program has the address meanwhile.
func TestACommandLosesNoPlanOfTheDemonstration(t *testing.T) {
	env, _ := person(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	addr := taken.Addr().String()
	must(t, taken.Close())
	said := ""
	do := func(want ending.Code, args ...string) (out string) {
		t.Helper()
		var code ending.Code
		if code, out, said = piloto(env, append([]string{"--data", ".piloto", "--at", "here"}, args...)...); code != want {
			t.Fatalf("%q: %d %s%s", args, code, out, said)
		}
		return out
	}
	var waits struct {
		Waiting []struct {
			Run    string `json:"run_id"`
			Digest string `json:"digest"`
		} `json:"waiting"`
	}
	plan := func() (run, digest string) {
		t.Helper()
		must(t, json.Unmarshal([]byte(do(ending.Success, "waiting", "--json")), &waits))
		if len(waits.Waiting) != 1 {
			t.Fatalf("%+v", waits)
		}
		return waits.Waiting[0].Run, waits.Waiting[0].Digest
	}
	services := func() (ids []string) {
		t.Helper()
		var list struct {
			MCPs []struct {
				ID string `json:"mcp_id"`
			} `json:"mcps"`
		}
		must(t, json.Unmarshal([]byte(do(ending.Success, "services", "list", "--json")), &list))
		for _, s := range list.MCPs {
			ids = append(ids, s.ID)
		}
		return ids
	}
	stop := up(t, env, addr)
	do(6, "send", "Book a room for 6 tomorrow at 10")
	made, digest := plan()
	do(ending.Success, "runs", "confirm", made, "--digest", digest)
	do(6, "send", "Book a room for 6 tomorrow at 12")
	run, digest := plan()
	were := services()
	stop()

	if plan(); !slices.Equal(services(), were) || len(were) != 2 || said != "" {
		t.Errorf("after a command they are %q, and were %q; %s", services(), were, said)
	}
	taken, err = new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
	must(t, err)
	if plan(); !slices.Equal(services(), were) || !strings.Contains(said, addr) {
		t.Errorf("beside another program they are %q, and were %q; %s", services(), were, said)
	}
	do(ending.Success, "--lang", "es", "chats", "list")
	must(t, taken.Close())

	stop = up(t, env, addr)
	defer stop()
	do(ending.Success, "runs", "confirm", run, "--digest", digest)
	do(6, "runs", "undo", made)
	undo, digest := plan()
	do(ending.Success, "runs", "confirm", undo, "--digest", digest)
}

// TestAChatGoesOnInTheOtherLanguage: the card of a plan is in one language, though its choices were read in the other.
func TestAChatGoesOnInTheOtherLanguage(t *testing.T) {
	env, _ := person(t)
	defer up(t, env, "127.0.0.1:0")()
	for _, c := range []struct{ first, ask, then, book, want, other string }{
		{"en", "Which rooms are free on 2026-12-20 for 6?", "es", "Reserva la más barata", "Sala Sur · Plazas 8", "South|Seats|Bookings"},
		{"es", "¿Qué salas están libres el 2026-12-20 para 6?", "en", "Book the cheapest", "South Room · Seats 8", "Sur |Plazas|Reservas"},
	} {
		do := func(lang string, want ending.Code, args ...string) (out string) {
			t.Helper()
			code, out, said := piloto(env, append([]string{"--data", ".piloto", "--at", "here", "--lang", lang, "send"}, args...)...)
			if code != want {
				t.Fatalf("%q: %d %s%s", args, code, out, said)
			}
			return out
		}
		do(c.first, ending.Success, c.ask)
		card := do(c.then, 6, "--chat", "last", c.book)
		if !strings.Contains(card, c.want) || regexp.MustCompile(c.other).MatchString(card) {
			t.Error(card)
		}
	}
}

// up starts the process of the folder .piloto at an address, and returns the function that stops it.
func up(t *testing.T, env map[string]string, addr string) (stop func()) {
	t.Helper()
	settings, err := process.SettingsFrom(func(name string) string { return env[name] })
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ready, ended := make(chan process.Address, 1), make(chan error, 1)
	go func() {
		o := process.Options{Addr: addr, Data: ".piloto", Log: io.Discard, Ready: func(at process.Address) { ready <- at }}
		ended <- process.Serve(ctx, o, settings, io.Discard)
	}()
	select {
	case <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	return func() { cancel(); must(t, <-ended) }
}
