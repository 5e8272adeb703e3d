package command

import (
	"slices"
	"strings"

	"piloto/internal/ground/lazy"
)

// docker judges container engines. A listing asks the engine, too, and a client of the engine may do anything on the machine.
func docker(c call) {
	if c.isHelp() {
		return
	}
	args := slices.DeleteFunc(slices.Clone(c.args), func(w word) bool { return w.text == "--rm" || w.text == "--force-rm" })
	d := call{in: c.in, name: c.name, args: args, words: c.words}
	positional := texts(d.positional())
	if len(positional) > 1 && slices.Contains([]string{"container", "image", "compose", "volume", "network", "system", "builder", "context", "stack", "service", "node", "secret", "config", "swarm", "machine", "pod"}, positional[0]) {
		if slices.Contains([]string{"rm", "prune", "down", "leave", "kill", "stop"}, positional[1]) {
			c.report("containers", Destructive)
			return
		}
		if positional[0] != "secret" && positional[0] != "config" {
			positional = positional[1:]
		}
	}
	for i, a := range args { // the command that the container runs
		if shells()[a.text] || a.text == "env" || a.text == "exec" && i > 0 {
			c.in.runInner(args[i:])
			break
		}
	}
	class := wordsClass(args)
	switch {
	case len(positional) > 0 && slices.Contains([]string{"down", "stop", "kill", "rm", "rmi", "prune"}, positional[0]):
		class = Destructive
	case class == Sensitive && len(positional) > 0 && len(args) > 0 && !strings.HasPrefix(args[0].text, "-") && d.isHarmless() &&
		slices.Contains([]string{"ps", "images", "ls", "list", "version", "info", "stats", "top", "port", "logs", "df"}, positional[0]):
		switch {
		case positional[0] == "top" && len(positional) > 2 || positional[0] == "logs" && d.flag("--details"): // options of ps, and an environment
			c.report("secrets", Sensitive)
		case positional[0] == "logs":
			d.checkFollow("-f", "--follow")
		case positional[0] == "stats" && !slices.Contains(texts(args), "--no-stream"):
			c.report("waits", Sensitive)
		}
		c.report("engine", Sensitive)
		return
	case copiesAway(d), len(positional) > 0 && (positional[0] == "save" || positional[0] == "export") && d.flag("-o", "--output"):
		c.report("overwrites", Destructive)
	}
	c.report("containers", class)
}

// database judges the clients of SQL databases by their statements. A statement that is not an
// argument is unknown.
func database(c call) {
	if c.isHelp() || c.flag("--version") && len(c.args) == 1 {
		return
	}
	if c.name != "sqlite3" && c.name != "sqlite" && c.name != "duckdb" { // those read a file
		c.report("credentials", Sensitive)
	}
	if c.name == "psql" && len(c.args) == 1 && (c.args[0].text == "-l" || c.args[0].text == "--list") {
		return
	}
	c.checkHosts()
	if known, ok := databaseOptions[c.name]; ok && !c.hasOnly(known()) {
		c.report("unknown", wordsClass(c.args))
	}
	options := []string{"-c", "-e", "-Q", "-q", "--command", "--execute", "--query", "--eval"}
	class, given := Safe, false
	for i, a := range c.args {
		statement := ""
		switch {
		case i > 0 && slices.Contains(options, c.args[i-1].text):
			statement = a.text
		case strings.HasPrefix(a.text, "--command="), strings.HasPrefix(a.text, "--execute="), strings.HasPrefix(a.text, "--query="):
			_, statement, _ = strings.Cut(a.text, "=")
		case strings.HasPrefix(a.text, "-c") && len(a.text) > 3 && c.name == "psql", strings.HasPrefix(a.text, "-e") && len(a.text) > 3 && c.name != "psql":
			statement = a.text[2:]
		case strings.HasPrefix(a.text, ".") && strings.HasPrefix(c.name, "sqlite"), strings.ContainsAny(a.text, " ;") && !strings.HasPrefix(a.text, "-"): // of sqlite3, and of clients whose options are unknown
			statement = a.text
		default:
			if isFlag(a.text, "-f", "-o", "-L", "-v", "--file", "--output", "--init-command", "--set", "--variable", "--tee", "--pager", "-init", "-cmd") && strings.HasPrefix(a.text, "-") && !slices.Contains(options, a.text) {
				class = max(class, Sensitive)
			}
			if a.dynamic {
				class = max(class, Sensitive)
			}
			if file := strings.TrimPrefix(a.text, "file:"); !strings.HasPrefix(a.text, "-") && (leavesFolder(a.text, true) || strings.HasPrefix(c.name, "sqlite") && leavesFolder(file, true)) {
				c.report("elsewhere", Sensitive)
			}
			continue
		}
		given = true
		class = max(class, sqlClass(statement))
		if a.dynamic {
			class = max(class, c.in.unknownClass())
		}
	}
	if !given {
		c.in.runsUnseen = true
		class = max(class, wordsClass(c.args))
	}
	c.report("database", class)
}

// Words of SQL. A statement with one of the first is destructive. A statement without one of the
// second, and with only functions of the third, only reads.
var (
	sqlDestroys = lazy.Words(`drop truncate delete flush purge shutdown detach vacuum reset dropdb pg_terminate_backend pg_drop_replication_slot lo_unlink kill rmtree
		pg_switch_wal xp_cmdshell unlink rm format_disk`)
	sqlReads = lazy.Words("select show explain describe desc with values table pragma use")
	sqlActs  = lazy.Words(`insert update alter create grant revoke copy into call do execute exec merge replace load_file load_extension outfile dumpfile writefile readfile
		dblink sleep benchmark system shell lock analyze set handler import export attach rename refresh reindex cluster notify listen begin commit rollback prepare
		deallocate declare fetch rows_affected program server source edit fts3_tokenizer pg_sleep nextval setval set_config lo_import lo_export pg_read_file pg_ls_dir
		pg_reload_conf sys_exec openrowset pg_read_binary_file password passwd secret token pg_shadow pg_authid authentication_string api_key backup restore`)
	sqlFunctions = lazy.Words(`count sum avg min max coalesce lower upper length now date date_trunc extract round abs cast concat substr substring trim in exists and or
		where on as by over values distinct not nullif greatest least current_date current_timestamp to_char to_date datediff date_format year month day ifnull
		row_number rank dense_rank lag lead string_agg group_concat array_agg json_agg from select with any all using between like when then else case limit having
		union join version database char_length left right replace_all strftime datetime julianday typeof total floor ceil ceiling mod power sqrt pg_size_pretty
		pg_database_size pg_relation_size pg_total_relation_size table_info index_list partition interval is offset filter format_type pg_get_viewdef md5`)
)

// sqlClass returns the class of SQL statements. It reads them word by word: a DELETE is
// destructive, and so is an UPDATE of every row; only a statement that reads with known functions
// is safe.
func sqlClass(text string) Class {
	text = strings.ToLower(text)
	words := strings.FieldsFunc(text, func(r rune) bool { return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && r < 0x80 })
	class, where := Safe, slices.Contains(words, "where")
	for _, w := range words {
		switch {
		case sqlDestroys()[w], w == "update" && !where:
			return Destructive
		case sqlActs()[w]:
			class = Sensitive
		}
	}
	if isDestructive(text) && !strings.HasPrefix(strings.TrimSpace(text), "select") {
		return Destructive
	}
	for _, statement := range strings.Split(text, ";") {
		statement = strings.TrimSpace(statement)
		first := before(strings.Join(strings.Fields(strings.ReplaceAll(statement, "(", " ( ")), " "), " ")
		switch {
		case statement == "", len(statement) <= 40 && describeCommands()[before(statement, " ")], statement == `\l`, statement == `\conninfo`, statement == ".tables", statement == ".schema",
			strings.HasPrefix(statement, ".schema ") && len(strings.Fields(statement)) == 2:
		case readsConfidential(statement):
			class = max(class, Sensitive)
		case !sqlReads()[first], strings.ContainsAny(statement, "\\`"), strings.HasPrefix(first, "pragma") && strings.Contains(statement, "="), !hasKnownFunctions(statement), strings.Contains(statement, "/*!"):
			class = max(class, Sensitive)
		}
	}
	if len(words) == 0 && !strings.Contains(text, `\`) {
		return Sensitive
	}
	return class
}

// describeCommands are the commands of psql that describe tables.
var describeCommands = lazy.Words(`\d \d+ \dt \dt+ \di \di+ \dv \dv+ \ds \dn \dn+`)

// hasKnownFunctions reports whether all functions in a statement are known to change nothing.
func hasKnownFunctions(statement string) bool {
	for at := 0; at < len(statement); at++ {
		if statement[at] != '(' {
			continue
		}
		head := strings.TrimRight(statement[:at], " \t\n")
		start := len(head)
		for start > 0 && (head[start-1] == '_' || head[start-1] >= '0' && head[start-1] <= '9' || head[start-1] >= 'a' && head[start-1] <= 'z' || head[start-1] == '.' || head[start-1] == '"' || head[start-1] >= 0x80) {
			start--
		}
		if name := head[start:]; name != "" && !sqlFunctions()[name] {
			return false
		}
	}
	return true
}

// redis judges the clients of Redis by their command.
func redis(c call) {
	if c.isHelp() {
		return
	}
	var words []string
	valued := lazy.Words("-h -p -a -n -u -s -i --user --pass --cert --key --cacert -d -D --tls-ciphers")
	for i := 0; i < len(c.args); i++ {
		switch a := c.args[i].text; {
		case valued()[a] && len(words) == 0:
			i++
		case a == "-r" && len(words) == 0:
			c.report("waits", Sensitive)
			i++
		case strings.HasPrefix(a, "-") && len(words) == 0:
			if slices.Contains([]string{"--pipe", "--eval", "--rdb", "-x", "-X", "--functions-rdb"}, a) {
				c.report("database", wordsClass(c.args))
			}
		default:
			words = append(words, strings.ToLower(a))
		}
	}
	c.report("credentials", Sensitive)
	if len(words) == 0 {
		c.in.runsUnseen = true
		c.report("database", Sensitive)
		return
	}
	c.checkHosts()
	if own := (call{args: c.args[:len(c.args)-len(words)]}); !own.hasOnly(redisOptions()) {
		c.report("unknown", wordsClass(c.args))
	}
	reads := lazy.Words("get mget hget hgetall hmget hkeys hvals hlen scan hscan sscan zscan info ping ttl pttl type exists llen lrange lindex scard smembers sismember zcard zrange zscore zrank strlen dbsize time echo memory getrange xlen xrange xinfo object randomkey lastsave command")
	destroys := lazy.Words("flushall flushdb del unlink shutdown debug xtrim ltrim getdel spop lpop rpop zremrangebyrank zremrangebyscore srem zrem hdel lrem xdel migrate swapdb cluster replicaof slaveof failover expire expireat pexpire zpopmin zpopmax restore eval evalsha fcall rename")
	class := Sensitive
	switch {
	case destroys()[words[0]], len(words) > 1 && (words[1] == "flush" || words[1] == "kill" || words[1] == "reset" || words[1] == "deluser"):
		class = Destructive
	case reads()[words[0]] && !anyDynamic(c.args) && !isSecret(strings.Join(words, " ")) && !isPersonalKey(strings.Join(words, " ")):
		return
	case wordsClass(c.args) == Destructive:
		class = Destructive
	}
	c.report("database", class)
}

// isPersonalKey reports whether a key seems to concern a person.
func isPersonalKey(words string) bool {
	for _, part := range []string{"session", "user", "account", "auth", "login", "customer", "cookie", "otp"} {
		if strings.Contains(words, part) {
			return true
		}
	}
	return false
}

// cloud judges the clients of clouds. A read-only call uses the credentials of the person, too.
func cloud(c call) {
	if c.isHelp() {
		return
	}
	class, reads := wordsClass(c.args), false
	for i, a := range c.positional() {
		verb := before(a.text, "-")
		switch a.text {
		case "rm", "rb", "rmi", "down", "stop-instances", "reset":
			class = Destructive
		case "ls", "list", "describe", "show", "list-instances", "list-clusters":
			reads = reads || i > 0
		}
		if i == 1 && (verb == "describe" || verb == "list") || i == 1 && verb == "get" && c.name == "aws" {
			reads = true
		}
	}
	if c.flag("--delete") || c.flag("--force-destroy") || c.name == "gsutil" && c.flag("-d") && slices.Contains(texts(c.args), "rsync") ||
		c.name == "heroku" && strings.HasSuffix(strings.Join(texts(c.args[:min(1, len(c.args))]), ""), ":reset") {
		class = Destructive
	}
	switch {
	case copiesAway(c):
		c.report("overwrites", Destructive)
	case class == Sensitive && reads && c.asksForPeople():
		c.report("identity", class)
	case class == Sensitive && reads && !anyDynamic(c.args) && !c.asksForSecret() && !c.flag("--follow", "--watch", "--wait"):
		c.report("credentials", class)
	default:
		c.report("cloud", class)
	}
}

// cloudSecrets are parts of the words that ask a cloud for a secret, or for an object that includes
// one: an environment, a connection key.
var cloudSecrets = []string{
	"secret", "token", "password", "parameter", "credential", "decrypt", "key", "auth", "login", "ssm", "config", "userdata", "task-definition", "env",
	"--endpoint", "--debug", "object", "user-pool-client", "apprunner", "vpn-connections", "job-definitions", "amplify", "opsworks", "list-functions",
	"--no-verify", "containerapp", "databases", "describe-jobs", "launch-template", "output",
}

// asksForSecret reports whether a cloud command may return a secret, or writes a file.
func (c call) asksForSecret() bool {
	positional := texts(c.positional())
	if c.name == "aws" && len(positional) > 1 && strings.HasPrefix(positional[1], "get-") &&
		!slices.Contains([]string{"get-caller-identity", "get-bucket-location", "get-bucket-versioning", "get-metric-statistics", "get-metric-data", "get-cost-and-usage", "get-rest-apis"}, positional[1]) {
		return true
	}
	if c.name == "gcloud" && slices.Contains(positional, "describe") {
		return true // includes its environment, its metadata or its keys
	}
	for i, a := range c.args {
		text := strings.ToLower(a.text)
		if region, joined := strings.CutPrefix(text, "--region="); joined || i > 0 && c.args[i-1].text == "--region" { // it is part of the address
			if strings.Trim(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
				return true
			}
		}
		for _, part := range cloudSecrets {
			if strings.Contains(text, part) && !strings.Contains(text, "list-objects") || strings.HasPrefix(text, "file:") || strings.HasPrefix(text, "fileb:") {
				return true
			}
		}
	}
	return false
}
