//go:build unix

package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func init() {
	probes["argument"] = func(args []string) { fmt.Printf("%q\n", args) }
	probes["environment"] = func([]string) { fmt.Println(strings.Join(os.Environ(), "\n")) }
	probes["sleep"] = func([]string) { time.Sleep(time.Hour) }
	probes["secrets"] = probeSecrets
	probes["outside"] = probeOutside
	probes["leave"] = probeLeave
	probes["fork"] = probeFork
}

// probeSecrets looks for a canary in the environment, in a file, and in the environments of all processes.
func probeSecrets(args []string) {
	canary, file := strings.Join(args[:2], ""), args[2] // in two parts, so that the line of the command does not hold it
	if strings.Contains(strings.Join(os.Environ(), "\n"), canary) {
		fmt.Println("found in the environment")
	}
	if text, err := os.ReadFile(file); err == nil && strings.Contains(string(text), canary) {
		fmt.Println("found in the home folder")
	}
	environments, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environments {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), canary) {
			fmt.Println("found in another process")
			return
		}
	}
}

// probeOutside tries to reach a TCP server, two unix sockets, and a folder outside of the workspace.
func probeOutside(args []string) {
	server, socket, abstract, folder := args[0], args[1], args[2], args[3]
	for _, at := range [][2]string{{"tcp", server}, {"unix", socket}, {"unix", abstract}} {
		if c, err := net.Dial(at[0], at[1]); err == nil {
			fmt.Println("reached", at[0], at[1])
			c.Close()
		}
	}
	interfaces, _ := net.Interfaces()
	for _, i := range interfaces {
		if i.Flags&net.FlagLoopback == 0 {
			fmt.Println("has an interface beside loopback")
			break
		}
	}
	if os.WriteFile(filepath.Join(folder, "planted"), []byte("x"), 0o644) == nil {
		fmt.Println("wrote outside")
	}
	if os.Remove(filepath.Join(folder, "kept")) == nil {
		fmt.Println("deleted outside")
	}
}

// probeLeave starts a process that starts a sleeping one, each in a session of its own, and ends.
func probeLeave(args []string) {
	next := []string{"probe", "sleep", args[0]}
	if len(args) == 1 {
		next = []string{"probe", "leave", args[0], "again"}
	}
	child := exec.Command(os.Args[0], next...)
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		fmt.Println(err)
	}
	if len(args) == 1 {
		_ = child.Wait()
	}
}

// probeFork starts processes until the kernel refuses, and prints how many there are.
func probeFork(args []string) {
	for n := range 5000 {
		if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000", args[0]}, nil); err != nil {
			fmt.Println(n, err)
			return
		}
	}
	fmt.Println("no limit")
}
