package turn_test

import (
	"context"
	"strings"
	"testing"

	"piloto/infra/local/fixture"
	"piloto/internal/chats/job"
	"piloto/internal/conversation"
	"piloto/internal/ground/locale"
	"piloto/internal/runs/plan"
	"piloto/internal/runs/run"
	"piloto/internal/workspace/files"
	"piloto/internal/workspace/overlay"
)

// full says of each write what made room for it.
type full struct{ files.Workspace }

func gone(names ...string) (list []files.Gone) {
	for _, name := range names {
		list = append(list, files.Gone{Place: files.Place{Account: fixture.Account, Project: "other"}, Name: name, Version: "v"})
	}
	return list
}

func (f full) Use(ctx context.Context, p files.Place, set string, calls []files.Call, o files.Options) (files.Used, error) {
	used, err := f.Workspace.Use(ctx, p, set, calls, o)
	used.Gone = gone("at *first*.bin")
	return used, err
}

func (f full) Apply(ctx context.Context, p files.Place, set string) (files.Applied, error) {
	applied, err := f.Workspace.Apply(ctx, p, set)
	applied.Gone = gone("[then](x).bin", "[then](x).bin")
	return applied, err
}

func (f full) Undo(ctx context.Context, p files.Place, set string, done []overlay.Done) (files.Applied, error) {
	undone, err := f.Workspace.Undo(ctx, p, set, done)
	for range 30 {
		undone.Gone = append(undone.Gone, gone("undone.bin")...)
	}
	return undone, err
}

// TestWhatMadeRoomForAPlanIsTold: of its proposal beside the card, and of its execution and its undo in the final message.
func TestWhatMadeRoomForAPlanIsTold(t *testing.T) {
	w, f := newFileWorld(t, calls("edit_file", edit("precios.csv", "norte,20", "norte,25")), text("Listo."))
	withFiles(t, w)
	w.service.Files, w.Steps.Files = full{f.Service}, full{f.Service}
	reply := w.send(t, "Sube la sala norte a 25")
	if n := reply.Message.Notes; len(n) != 1 || n[0].Code != conversation.NoteMadeRoom ||
		n[0].Text != "Para hacer sitio se ha quitado para siempre 1 versión anterior, archivo borrado o cambio sin confirmar: at *first*.bin (de otro proyecto o chat)." {
		t.Errorf("%+v", n)
	}
	confirm := func(r plan.Run) string {
		t.Helper()
		if err := w.Confirm(r); err != nil {
			t.Fatal(err)
		}
		w.Execute(r.ID)
		return w.last(t).Content
	}
	if m := confirm(*reply.Run); !strings.Contains(m, "\nPara hacer sitio se han quitado para siempre 2 versiones anteriores, archivos borrados o cambios sin confirmar: ") ||
		!strings.Contains(m, `\[then\]`) || strings.Count(m, "then") != 1 {
		t.Errorf("%s", m)
	}
	undo, err := w.Runs.Reverse(t.Context(), run.Again{Account: fixture.Account, User: "ana", RunID: reply.Run.ID, Locale: locale.Spanish})
	if err != nil {
		t.Fatal(err)
	}
	if m := confirm(undo.Run); !strings.Contains(m, "siempre 30 versiones") || strings.Count(m, "undone.bin") != 1 {
		t.Errorf("%s", m)
	}
}

// TestWhatMadeRoomForAJobIsTold in its last message, too.
func TestWhatMadeRoomForAJobIsTold(t *testing.T) {
	w, f := newFileWorld(t, calls("edit_file", edit("precios.csv", "20", "25")), text("Listo."), text("Aplicado."))
	w.service.Files, w.Steps.Files = full{f.Service}, full{f.Service}
	j := w.drive(t, w.start(t, "build", job.Order{}).ID)
	r := w.Read(j.RunID)
	if err := w.Confirm(r); err != nil {
		t.Fatal(err)
	}
	w.Execute(r.ID)
	w.drive(t, j.ID)
	if n := w.last(t).Notes; len(n) != 1 || n[0].Code != conversation.NoteMadeRoom {
		t.Errorf("%+v", n)
	}
}
