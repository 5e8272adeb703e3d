package neterr

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
)

func TestReasonClassifiesFailures(t *testing.T) {
	for want, err := range map[string]error{
		"cancelled": fmt.Errorf("x: %w", context.Canceled),
		"dns":       &net.OpError{Err: &net.DNSError{Name: "nowhere.invalid", IsTimeout: true}},
		"timeout":   &net.OpError{Err: os.ErrDeadlineExceeded},
		"refused":   &net.OpError{Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)},
		"tls":       fmt.Errorf("x: %w", tls.RecordHeaderError{Msg: "no TLS"}),
		"reset":     &net.OpError{Err: syscall.ECONNRESET},
		"protocol":  errors.New("malformed HTTP response"),
	} {
		if got := Reason(err); got != want {
			t.Errorf("%v: %s, want %s", err, got, want)
		}
	}
	if got := Reason(context.DeadlineExceeded); got != "timeout" {
		t.Error(got)
	}
}
