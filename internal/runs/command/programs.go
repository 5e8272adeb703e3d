package command

import (
	"slices"
	"strings"
)

// register adds the programs that run others, that change things, and that have subcommands.
func register(programs map[string]func(call)) {
	each := func(names string, f func(call)) {
		for _, name := range strings.Fields(names) {
			programs[name] = f
		}
	}
	for name := range wrappers {
		programs[name] = wrap
	}
	for name := range shells() {
		programs[name] = shell
	}
	each("env", env)
	programs["eval"], programs["source"], programs["."] = eval, source, source
	each("python perl ruby node nodejs deno bun php lua luajit tclsh osascript java Rscript rscript julia groovy scala jshell irb ipython pypy ghci erl elixir iex wish expect guile racket awk gawk mawk nawk ed ex vi vim nvim emacs m4 make gmake gdb lldb ant gradle gradlew mvn rake just ninja", interpreter)
	each("xargs gxargs", xargs)
	each("parallel watch at batch", joinedCommand)
	each("ssh mosh autossh", remote)
	each("su", su)
	each(`rm rmdir unlink shred srm wipe wipefs truncate mkfs mke2fs mkswap fdisk sfdisk cfdisk gdisk sgdisk parted blkdiscard lvremove vgremove pvremove
		cryptsetup dropdb dropuser rimraf trash trash-put trash-empty del rd erase fsck swapoff zpool zfs hdparm nvme clear-content clear-item clear-disk clear-recyclebin remove-item remove-itemproperty ri format-volume initialize-disk
		diskpart vssadmin cipher bcdedit wevtutil stop-computer restart-computer format`, fixedClass("deletes", Destructive))
	each("shutdown reboot poweroff halt init telinit killall pkill xkill userdel groupdel deluser delgroup", fixedClass("system", Destructive))
	each("curl wget http https xh aria2c fetch lynx w3m links nc ncat netcat socat telnet ftp sftp lftp scp rsync", network)
	each("gunzip gzip bunzip2 bzip2 xz unxz zstd unzstd openssl gpg uudecode unzip tar bsdtar cpio 7z unrar zip ar", archive)
	each("dd", copyBlocks)
	each("cp mv ln install tee touch mkdir mkfifo mknod split patch sponge rename", changes)
	each("chmod chown chgrp setfacl chattr chcon", rights)
	each("kill", kill)
	each("crontab", crontab)
	each("iptables-restore ip6tables-restore", fixedClass("system", Destructive))
	each("iptables ip6tables nft ufw firewall-cmd ebtables", firewall)
	each("systemctl service rc-service launchctl supervisorctl initctl loginctl journalctl dmesg", services)
	each("mount umount", fixedClass("system", Sensitive))
	each("git", git)
	each("go", golang)
	each("gh", gh)
	each("mongosh mongo", mongo)
	each("docker podman nerdctl docker-compose buildah", docker)
	for name := range tools {
		programs[name] = toolkit
	}
	each("psql mysql mariadb sqlite3 sqlite duckdb clickhouse-client cockroach sqlcmd cqlsh mysqladmin", database)
	each("redis-cli valkey-cli keydb-cli", redis)
	each("aws gcloud az gsutil bq doctl oci ibmcloud aliyun linode-cli hcloud flyctl fly heroku eksctl", cloud)
}

// tools are programs with subcommands, and their subcommands that only read. Any other is
// sensitive, or destructive when one of its words is destructive.
var tools = map[string]string{
	"kubectl": "version", "oc": "version", "k": "version",
	"helm": "version search", "terraform": "version validate providers graph", "tofu": "version validate", "terragrunt": "version", "pulumi": "version",
	"npm": "ls list view info outdated version search", "yarn": "list info why outdated", "pnpm": "list ls outdated why", "pip": "list show freeze check", "pip3": "list show freeze check",
	"apt": "list search show policy", "apt-get": "", "apt-cache": "search show policy depends", "dpkg": "", "yum": "list info search", "dnf": "list info search", "rpm": "",
	"pacman": "", "apk": "info search", "brew": "list info search outdated", "snap": "list info find", "flatpak": "list info", "gem": "list search", "cargo": "tree search metadata",
	"composer": "show", "conda": "list info", "poetry": "show version", "uv": "", "npx": "", "ansible": "", "ansible-playbook": "", "vagrant": "status version",
	"minikube": "status version", "kind": "version", "glab": "", "vault": "", "consul": "", "nomad": "version", "etcdctl": "", "rclone": "version",
	"screen": "", "tmux": "", "svn": "status log info diff", "hg": "status log diff", "passwd": "", "useradd": "", "usermod": "", "visudo": "", "nmap": "", "tcpdump": "", "ping": "", "dig": "",
	"host": "", "nslookup": "", "traceroute": "", "whois": "", "sysctl": "", "modprobe": "", "insmod": "", "rmmod": "", "exportfs": "", "mail": "", "sendmail": "", "man": "",
	"pg_dump": "", "pg_restore": "", "mysqldump": "", "createdb": "", "mc": "", "yes": "", "ulimit": "", "shopt": "", "enable": "", "bind": "", "complete": "", "unalias": "", "disown": "", "fg": "", "bg": "",
}

// toolkit judges a program by its subcommands.
func toolkit(c call) {
	if c.isHelp() {
		return
	}
	class := wordsClass(c.args)
	positional := c.positional()
	safe := strings.Fields(tools[c.name])
	if c.onlyReads(texts(positional)) || len(c.args) == 1 && c.args[0].text == "-v" && strings.Contains("npm yarn pnpm", c.name) {
		return
	}
	if class == Sensitive && len(positional) > 0 && len(c.args) > 0 && c.args[0].text == positional[0].text && slices.Contains(safe, positional[0].text) && c.isHarmless() && c.isLocal() {
		options, ok := toolOptions[c.name]
		if !ok {
			options = otherTools
		}
		registry := strings.Contains(" npm yarn pnpm pip pip3 cargo gem brew composer ", " "+c.name+" ")
		if !c.hasOnly(options()) || registry && !c.namesPackages(texts(positional[1:])) {
			c.report("unknown", class)
			return
		}
		if c.asksService(positional[0].text) {
			c.report("credentials", Sensitive)
		}
		return
	}
	if c.name == "dpkg" && c.flag("-P", "-r") || c.name == "rpm" && c.flag("-e") || c.name == "pacman" && c.flag("-R") {
		class = Destructive
	}
	switch shown := " " + strings.Join(texts(c.args), " ") + " "; {
	case c.name == "rclone" && strings.Contains(shown, " sync "), c.name == "kubectl" && strings.Contains(shown, " replace ") && c.flag("--force"),
		strings.HasPrefix(c.name, "ansible") && strings.Contains(shown, "state=absent"):
		class = Destructive
	}
	if copiesAway(c) && (c.isKube() || c.name == "rclone" || c.name == "mc") {
		c.report("overwrites", Destructive)
		return
	}
	if c.isKube() && class == Sensitive && len(positional) > 0 && slices.Contains([]string{"get", "logs", "top", "describe", "explain", "cluster-info", "api-resources", "api-versions"}, positional[0].text) {
		c.report("credentials", class)
		return
	}
	c.report("changes", class)
}

// isKube reports whether a program is a client of Kubernetes.
func (c call) isKube() bool { return c.name == "kubectl" || c.name == "k" || c.name == "oc" }

// asksService reports whether a read-only subcommand asks a service with its credentials: a cluster, a registry of packages,
// a repository, the backend of a state.
func (c call) asksService(sub string) bool {
	switch c.name {
	case "kubectl", "k", "oc":
		return !c.flag("--client")
	case "npm", "yarn", "pnpm", "cargo", "gem":
		return slices.Contains([]string{"view", "info", "outdated", "search"}, sub)
	case "pip", "pip3":
		return c.flag("-o", "-u", "--outdated", "--uptodate")
	case "terraform", "tofu":
		return sub == "providers" || sub == "graph"
	case "svn":
		return sub == "log" || c.flag("-u", "--show-updates")
	}
	return false
}

// isHarmless reports whether the arguments of a reading command are known, name no secret, and
// write no file.
func (c call) isHarmless() bool {
	positional := texts(c.positional())
	if len(positional) > 1 && (c.name == "npm" || c.name == "poetry") && positional[0] == "version" || // with an argument, it sets the version
		slices.Contains(positional, "dump") || c.name == "oc" && c.flag("-t", "--show-token") {
		return false
	}
	for _, a := range c.args {
		if isFlag(a.text, "--log", "--python", "--setopt", "--config-option", "--overlay") || strings.HasPrefix(a.text, "-overlay") || strings.HasPrefix(a.text, "-o=") {
			return false
		}
		if a.dynamic || isSecret(a.text) || strings.Contains(a.text, "jsonpath") || strings.Contains(a.text, "template") || strings.Contains(a.text, "=yaml") || strings.Contains(a.text, "=json") || isFlag(a.text, "--output-file", "--raw", "--output-dir", "--exec", "--config", "--kubeconfig", "--plugin", "--unhide", "--insecure") && !strings.HasPrefix(a.text, "-o") && strings.HasPrefix(a.text, "--") {
			return false
		}
		if slices.Contains([]string{"configmap", "configmaps", "cm", "env", "-f", "-oyaml", "-ojson", "yaml", "json"}, a.text) && c.name != "docker" {
			return false
		}
	}
	return true
}

// network judges programs that send and fetch.
func network(c call) {
	if c.isHelp() {
		return
	}
	c.in.fetches = true
	class, words := Sensitive, wordsClass(c.args)
	for i, a := range c.args {
		if i > 0 && (c.args[i-1].text == "-X" || c.args[i-1].text == "--request") && strings.EqualFold(a.text, "DELETE") ||
			strings.HasPrefix(a.text, "-") && strings.HasSuffix(strings.ToUpper(a.text), "XDELETE") || strings.EqualFold(a.text, "--method=delete") || strings.EqualFold(a.text, "--request=delete") || strings.EqualFold(a.text, "DELETE") {
			class = Destructive
		}
		if strings.HasPrefix(a.text, "--del") || strings.HasPrefix(a.text, "--remove-source") {
			class = Destructive
		}
		if i > 0 && c.args[i-1].text == "-P" {
			c.in.checkWrite(a, true)
		}
		if (c.name == "nc" || c.name == "ncat" || c.name == "socat") && (isFlag(a.text, "-e", "-c", "--exec", "--sh-exec") || strings.Contains(strings.ToUpper(a.text), "EXEC:") || strings.Contains(strings.ToUpper(a.text), "SYSTEM:")) {
			class = Destructive // a shell for the remote end
		}
		if (c.name == "scp" || c.name == "rsync") && i == len(c.args)-1 && isProtected(a.text) {
			class = Destructive
		}
		if (c.name == "rsync") && isFlag(a.text, "-e", "--rsh") && words == Destructive {
			class = Destructive
		}
	}
	c.checkDownload()
	if (c.name == "rsync" || c.name == "scp") && len(c.positional()) > 1 && !keeps(c) {
		c.report("overwrites", Destructive)
	}
	if c.name == "lftp" || c.name == "sftp" || c.name == "ftp" {
		class = max(class, wordsClass(c.args))
	}
	c.report("network", class)
}

// archive judges programs that pack, unpack and decode.
func archive(c call) {
	if c.isHelp() || c.name == "openssl" && len(c.args) == 1 && c.args[0].text == "version" || onlyListsArchive(c) {
		return
	}
	c.in.fetches = true
	class := Sensitive
	if c.flag("--remove-files", "--delete", "--to-command", "--checkpoint-action", "--use-compress-program", "-I") && wordsClass(c.args) == Destructive ||
		c.flag("--remove-files", "--delete") && (c.name == "tar" || c.name == "bsdtar") {
		class = Destructive
	}
	if overwritesByArchive(c) || c.name == "zip" && c.flag("-d", "-m") || (c.name == "7z" || c.name == "ar") && len(c.args) > 0 && c.args[0].text == "d" {
		class = Destructive
	}
	for i, a := range c.args {
		if i > 0 && isFlag(c.args[i-1].text, "-C", "-d", "--directory") && isProtected(a.text) {
			class = Destructive
		}
	}
	c.report("writes", class)
}

// rights judges changes of the permissions of files.
func rights(c call) {
	class := Sensitive
	if c.flag("-R", "--recursive") {
		class = Destructive
	}
	for _, a := range c.positional() {
		if isProtected(a.text) && a.text != "." || a.text == "777" || a.text == "0777" && c.name == "chmod" {
			class = Destructive
		}
	}
	c.report("rights", class)
}

func kill(c call) {
	class := Sensitive
	for _, a := range c.args {
		switch a.text {
		case "-l", "-L":
			if len(c.args) == 1 {
				return
			}
		case "-9", "-KILL", "-SIGKILL", "KILL", "SIGKILL", "9", "-1", "-kill", "-sigkill", "--signal=KILL", "--signal=9", "-s9", "-sKILL":
			class = Destructive
		}
		if strings.Contains(strings.ToUpper(a.text), "KILL") {
			class = Destructive
		}
	}
	c.report("process", class)
}

func crontab(c call) {
	switch {
	case c.flag("-r"):
		c.report("deletes", Destructive)
	case len(c.args) == 1 && c.args[0].text == "-l":
	case !c.flag("-e", "-l"): // it replaces the table
		c.report("overwrites", Destructive)
	default:
		c.report("system", wordsClass(c.args))
	}
}

func firewall(c call) {
	class := wordsClass(c.args)
	if c.flag("-F", "-X", "-D", "-Z", "--flush", "--delete", "--delete-chain") && strings.HasPrefix(c.name, "ip") {
		class = Destructive
	}
	for _, a := range c.args {
		switch a.text {
		case "disable", "reset", "--panic-on", "DROP", "-P", "--policy":
			class = Destructive
		}
	}
	c.report("system", class)
}

// services judges programs that start, stop and show services.
func services(c call) {
	for _, a := range c.args {
		switch a.text {
		case "stop", "disable", "mask", "kill", "isolate", "reboot", "poweroff", "halt", "rescue", "emergency", "reset-failed", "unload", "bootout", "remove",
			"suspend", "hibernate", "kexec", "switch-root", "terminate-session", "terminate-user", "kill-session", "kill-user", "revert", "clean", "exit", "delete", "shutdown":
			c.report("system", Destructive)
			return
		}
	}
	positional := c.positional()
	logs := c.name == "journalctl" || c.name == "dmesg"
	known := logs && (c.hasOnly(journalOptions()) && c.name == "journalctl" || c.hasOnly(dmesgOptions()) && c.name == "dmesg") || !logs && c.hasOnly(systemdOptions())
	switch {
	case logs && (c.flag("--vacuum-size", "--vacuum-time", "--vacuum-files", "--rotate", "--flush", "-C", "--clear", "--read-clear", "-c") || wordsClass(c.args) == Destructive):
		c.report("system", Destructive)
	case logs && c.flag("-f", "--follow", "-w", "--follow-new"):
		c.report("waits", Sensitive)
	case !known && !anyDynamic(c.args) && wordsClass(c.args) == Sensitive && !c.isHelp():
		c.report("unknown", Sensitive)
	case logs && !anyDynamic(c.args) && !c.flag("-D", "-E", "--setup-keys", "-w", "-W", "--console-level") && (c.name == "journalctl" || !c.flag("-n")) && !c.flag("--console-off", "--console-on", "--file", "--root", "-M", "--directory") || c.isHelp():
	case c.flag("-H", "--host", "-M", "--machine"):
		c.report("network", wordsClass(c.args))
	case c.name == "systemctl" && !anyDynamic(c.args) && len(positional) > 0 && slices.Contains([]string{"status", "is-active", "is-enabled", "is-failed", "list-units", "list-timers", "list-unit-files", "list-sockets", "list-dependencies"}, positional[0].text),
		c.name == "service" && len(positional) == 2 && positional[1].text == "status" && !anyDynamic(c.args):
	default:
		c.report("system", wordsClass(c.args))
	}
}
