package machines

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
	"net/http"

	"piloto/infra/conformance/outcome"
)

func TestMotoScratch(t *testing.T) {
	s, err := Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cmd := exec.Command("moto_server", "-H", "127.0.0.1", "-p", "17431")
	cmd.Env = append(os.Environ(), s.MotoEnv()...)
	f, _ := os.Create("/tmp/work/moto_i6.log")
	cmd.Stdout, cmd.Stderr = f, f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	for range 100 {
		if res, err := http.Get("http://127.0.0.1:17431/moto-api/"); err == nil {
			res.Body.Close()
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	out, err := s.Run(context.Background(), outcome.Subject{Name: "moto", URL: "http://127.0.0.1:17431"})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range out {
		if w := o.Failed["moto"]; w != "" {
			fmt.Println(o.Name, "::", w)
		}
	}
}
