package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// The installed version of n8n, with which the workflows were tested. Its newest dependencies are missing on npm,
// or differ from those that it was built with; so two of them are pinned.
const (
	version = "2.8.4"
	pnpm    = "pnpm@10.34.9"
)

var manifest = map[string]any{
	"private":      true,
	"dependencies": map[string]string{"n8n": version},
	"pnpm": map[string]any{
		"overrides":             map[string]string{"xlsx": "0.18.5", "@langchain/langgraph-checkpoint": "1.0.0"},
		"onlyBuiltDependencies": []string{"sqlite3", "isolated-vm"},
	},
}

// install returns the path of n8n. It installs n8n into the cache when it is missing, and continues an interrupted
// installation.
func install(ctx context.Context, log io.Writer) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "piloto", "n8n@"+version)
	path, whole := filepath.Join(folder, "node_modules", ".bin", "n8n"), filepath.Join(folder, "whole")
	if _, err := os.Stat(whole); err == nil {
		return path, nil
	}
	fmt.Fprintf(log, "installing n8n %s into %s: some minutes, once\n", version, folder)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(folder, "package.json"), raw, 0o644); err != nil {
		return "", err
	}
	env := append(os.Environ(), headers()...)
	if err := command(ctx, folder, "install", env, "npx", "--yes", pnpm, "install", "--prod", "--reporter=append-only", "--dir", folder); err != nil {
		return "", err
	}
	return path, os.WriteFile(whole, []byte(version+"\n"), 0o644)
}

// headers returns the settings for the headers of Node.js, when they are installed: sqlite3 is then built without a
// download.
func headers() []string {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil // npx will report it
	}
	root := filepath.Dir(filepath.Dir(node))
	if _, err := os.Stat(filepath.Join(root, "include", "node", "node.h")); err != nil {
		return nil
	}
	return []string{"npm_config_nodedir=" + root}
}
