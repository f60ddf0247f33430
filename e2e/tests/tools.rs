//! What an agent's tools do in a real sandbox: files, searches, the environment of programs, names of every kind.

use e2e::Result;
use e2e::client::text;
use e2e::follow::{Follower, whole_log};
use e2e::tool_bench::{Bench, call};
use serde_json::json;

#[tokio::test]
async fn a_link_is_not_edited_in_the_place_of_what_it_leads_to() -> Result {
    let bench = Bench::start().await?;
    let ran = bench
        .run(json!([
            [call(
                "run_shell",
                json!({ "command": "echo 'a = 1' > real.cfg; chmod 600 real.cfg; ln -s real.cfg cfg" })
            )],
            [call("edit_file", json!({ "path": "cfg", "old_text": "1", "new_text": "2" }))],
            [call("run_shell", json!({ "command": "readlink cfg; cat real.cfg; stat -c %a real.cfg" }))],
        ]))
        .await?;
    assert_eq!(ran.code(1), "NOT_A_FILE");
    assert!(ran.result(1).contains("name the file that it leads to"), "{}", ran.result(1));
    assert_eq!(ran.result(2), "real.cfg\na = 1\n600\n");
    bench.stop()
}

/// Tool, path, the code of its result, and words of it.
const UNUSABLE: &[(&str, &str, &str, &str)] = &[
    ("read_file", "dir", "NOT_A_FILE", "dir is a directory; name a file in it"),
    ("read_file", "pipe", "NOT_A_FILE", "pipe is a special file; name a regular file"),
    ("read_file", "zero", "NOT_A_FILE", "zero is a link; name the file that it leads to"),
    ("read_file", "broken", "NOT_A_FILE", "broken is a link"),
    ("read_file", "closed", "PATH_NOT_ACCESSIBLE", "closed cannot be read: its permissions"),
    ("read_file", "file/x", "NOT_A_DIRECTORY", "file is a file, and file/x cannot lie in it"),
    ("read_file", "locked/in", "PATH_NOT_ACCESSIBLE", "locked/in cannot be read: its permissions, or those of a dir"),
    ("read_file", "none/at/all", "FILE_NOT_FOUND", "there is no file none/at/all"),
    ("write_file", "dir", "NOT_A_FILE", "dir is a directory"),
    ("write_file", "pipe", "NOT_A_FILE", "pipe is a special file"),
    ("write_file", "zero", "NOT_A_FILE", "zero is a link"),
    ("write_file", "pipe/x", "NOT_A_DIRECTORY", "pipe is a special file, and pipe/x cannot lie in it"),
    ("write_file", "locked/new", "PATH_NOT_ACCESSIBLE", "locked/new cannot be written"),
    ("write_file", "broken/new", "PATH_NOT_ACCESSIBLE", "a link on the way leads nowhere"),
    ("edit_file", "dir", "NOT_A_FILE", "dir is a directory"),
    ("edit_file", "closed", "PATH_NOT_ACCESSIBLE", "closed cannot be edited"),
    ("list_files", "file", "NOT_A_DIRECTORY", "file is a file; read it with read_file"),
    ("list_files", "out", "NOT_A_DIRECTORY", "out is a link; name the directory that it leads to"),
    ("list_files", "locked", "PATH_NOT_ACCESSIBLE", "locked cannot be listed"),
    ("glob", "pipe", "NOT_A_DIRECTORY", "pipe is a special file; name a directory"),
    ("grep", "pipe", "NOT_A_DIRECTORY", "pipe is a special file; name a directory"),
    ("grep", "closed", "", "[not searched, being unreadable: closed]"),
    ("browse", "dir", "NOT_A_FILE", "dir is a directory"),
    ("browse", "pipe", "NOT_A_FILE", "pipe is a special file"),
    // The image has Chromium's launcher where the host has it, and nothing that it starts.
    ("browse", "file", "spec_refused", "has no chromium that runs; choose an image that has it"),
];

/// What a server or a system says of a path stays behind: the model reads the path, the rule and the fix.
#[tokio::test]
async fn a_path_that_cannot_be_used_is_told_by_the_rule_and_the_fix() -> Result {
    let bench = Bench::start().await?;
    let make = "mkdir dir locked; echo x > file; echo x > closed; chmod 000 closed; mkfifo pipe; ln -s /dev/zero zero; \
        ln -s nowhere broken; ln -s /etc out; echo x > locked/in; chmod 000 locked";
    let asked = UNUSABLE.iter().map(|(tool, path, ..)| {
        let more = match *tool {
            "write_file" => json!({ "content": "y" }),
            "edit_file" => json!({ "old_text": "x", "new_text": "y" }),
            "glob" | "grep" => json!({ "pattern": "x" }),
            _ => json!({}),
        };
        let mut arguments = json!({ "path": path });
        arguments.as_object_mut().into_iter().for_each(|all| all.extend(more.as_object().cloned().unwrap_or_default()));
        json!([call(tool, arguments)])
    });
    let mut groups = vec![json!([call("run_shell", json!({ "command": make }))])];
    groups.extend(asked);
    groups.push(json!([call("grep", json!({ "pattern": "x" }))]));
    let ran = bench.run(json!(groups)).await?;
    for (at, (tool, path, code, words)) in UNUSABLE.iter().enumerate() {
        let (result, found) = (ran.result(at + 1), ran.code(at + 1));
        assert_eq!(found, if code.is_empty() { "no error" } else { code }, "{tool} {path}: {result}");
        assert!(result.contains(words), "{tool} {path}: {result}");
        for leak in ["os error", "RUNTIME_ERROR", "/workspace/", "500"] {
            assert!(!result.contains(leak), "{tool} {path} tells {leak}: {result}");
        }
    }
    let everywhere = "file:1:x\n[not looked into, having too many entries or being unreadable: locked]\n\
        [not searched, being unreadable: closed]";
    assert_eq!(ran.result(UNUSABLE.len() + 1), everywhere);
    bench.stop()
}

/// The local runtime lists no directory of more than 10,000 entries: the tools answer for the rest.
#[tokio::test]
async fn directories_that_are_too_large_to_be_listed_are_named_and_left_out() -> Result {
    let bench = Bench::start().await?;
    let mut groups = Vec::new();
    for many in [
        "echo x > file; mkdir flat; cd flat; seq 10001 | xargs touch",
        "rm -r flat; mkdir a b; cd a; seq 5000 | xargs touch; cd ../b; seq 5000 | xargs touch",
    ] {
        groups.push(json!([call("run_shell", json!({ "command": many }))]));
        groups.push(json!([call("glob", json!({ "pattern": "fi*" })), call("list_files", json!({ "path": "flat" }))]));
    }
    let ran = bench.run(json!(groups)).await?;
    let flat = "file\n[not looked into, having too many entries or being unreadable: flat]";
    assert_eq!((ran.result(1), &ran.calls[1]["truncated"]), (flat, &json!(true)));
    assert_eq!(ran.code(2), "PATH_NOT_ACCESSIBLE");
    assert!(ran.result(2).contains("too many entries"), "{}", ran.result(2));
    let cut = ran.result(4);
    assert!(cut.starts_with("file\n[only the first 10") && cut.ends_with("; give a path further down]"), "{cut}");
    bench.stop()
}

#[tokio::test]
async fn files_are_written_read_edited_listed_and_searched() -> Result {
    let bench = Bench::start().await?;
    let source = "def main():\n    print('one')\n    print('two')\n";
    let ran = bench
        .run(json!([
            [
                call("write_file", json!({ "path": "src/app/main.py", "content": source })),
                call("write_file", json!({ "path": "/workspace/src/lib.rs", "content": "fn main() {}\n" })),
                call("run_shell", json!({ "command": "printf 'x\\0y' > data/bin; ln -s /etc data/out; printf hi > .hidden; chmod 755 data" })),
            ],
            [call("run_shell", json!({ "command": "chmod 750 src/app/main.py" }))],
            [call("edit_file", json!({ "path": "src/app/main.py", "old_text": "print('one')", "new_text": "print('1')" }))],
            [call("edit_file", json!({ "path": "src/app/main.py", "old_text": "print", "new_text": "log" }))],
            [call("edit_file", json!({ "path": "src/app/main.py", "old_text": "absent", "new_text": "log" }))],
            [call("edit_file", json!({ "path": "src/app/main.py", "old_text": "print", "new_text": "log", "all": true }))],
            [call("read_file", json!({ "path": "src/app/main.py", "start_line": 2, "end_line": 2 }))],
            [call("read_file", json!({ "path": "src/app/main.py", "offset": 4, "limit": 4 }))],
            [call("list_files", json!({ "path": "src" }))],
            [call("glob", json!({ "pattern": "**/*.{py,rs}" }))],
            [call("glob", json!({ "pattern": "*.py", "path": "src" }))],
            [call("grep", json!({ "pattern": "log\\(", "context": 1 }))],
            [call("grep", json!({ "pattern": "x", "path": "data" }))],
            [call("grep", json!({ "pattern": "MAIN", "glob": "*.rs", "ignore_case": true }))],
            [call("run_shell", json!({ "command": "stat -c '%a' src/app/main.py; cat src/app/main.py" }))],
            [call("list_files", json!({ "path": "nowhere" }))],
            [call("read_file", json!({ "path": "src" }))],
            [call("write_file", json!({ "path": "./src/app/main.py", "content": "again\n" }))],
            [call("run_shell", json!({ "command": "stat -c '%a' src/app/main.py src/lib.rs; cat src/app/main.py" }))],
            [call("run_shell", json!({ "command": "mkdir odd; touch \"$(printf 'odd/two\\nlines  7')\"" }))],
            [call("list_files", json!({ "path": "odd" }))],
        ]))
        .await?;
    assert_eq!(ran.result(0), "Wrote 46 bytes to src/app/main.py.");
    let diff = "@@ line 2 @@\n def main():\n-    print('one')\n+    print('1')\n     print('two')";
    assert_eq!(ran.result(4), format!("Replaced once in src/app/main.py.\n{diff}"));
    assert_eq!(ran.code(5), "EDIT_NOT_APPLIED");
    assert!(ran.result(5).contains("found 2 times in src/app/main.py, expected was 1"), "{}", ran.result(5));
    assert!(ran.result(6).contains("found 0 times"), "{}", ran.result(6));
    assert!(ran.result(7).starts_with("Replaced 2 times in src/app/main.py.\n"), "{}", ran.result(7));
    assert_eq!(ran.result(8), "    log('1')\n");
    assert!(ran.result(9).starts_with("main\n[the file goes on; read it with offset 8]"), "{}", ran.result(9));
    assert_eq!(ran.result(10), "src/app/\nsrc/app/main.py  40\nsrc/lib.rs  13");
    assert_eq!(ran.result(11), "src/app/main.py\nsrc/lib.rs");
    assert_eq!(ran.result(12), "src/app/main.py");
    assert_eq!(
        ran.result(13),
        "src/app/main.py-1-def main():\nsrc/app/main.py:2:    log('1')\nsrc/app/main.py:3:    log('two')\n[not searched, being binary: data/bin]"
    );
    assert_eq!(ran.result(14), "(no line matches)\n[not searched, being binary: data/bin]");
    assert_eq!(ran.result(15), "src/lib.rs:1:fn main() {}");
    // An edit keeps the mode and every other byte; a file that is written anew keeps its mode.
    assert_eq!(ran.result(16), "750\ndef main():\n    log('1')\n    log('two')\n");
    assert_eq!(ran.code(17), "DIRECTORY_NOT_FOUND");
    assert_eq!(ran.calls[18]["state"], "FAILED");
    assert_eq!(ran.result(20), "750\n644\nagain\n");
    assert_eq!(ran.result(22), "odd/two\\nlines  7  0");
    bench.stop()
}

/// The seeded profile has 64 processes: the programs wait for each other, and their time limits do not run meanwhile.
#[tokio::test]
async fn twenty_programs_of_one_reply_all_run() -> Result {
    let bench = Bench::start().await?;
    let calls: Vec<_> = (0..20)
        .map(|number| match number % 2 {
            0 => call("run_javascript", json!({ "code": format!("console.log({number})") })),
            _ => call("run_shell", json!({ "command": format!("echo {number} > outputs/{number}; sleep 0.2 & sleep 0.2 & wait; echo {number}") })),
        })
        .collect();
    let ran = bench.run(json!([calls])).await?;
    for number in 0..20 {
        assert_eq!(ran.result(number), format!("{number}\n"));
    }
    // Of those that ended together each one's file is taken once.
    assert_eq!(ran.state["artifacts"].as_array().map(Vec::len), Some(10), "{}", ran.state["artifacts"]);
    bench.stop()
}

/// Edits of one reply run side by side, and none of them is lost.
#[tokio::test]
async fn edits_of_one_file_in_one_reply_all_arrive() -> Result {
    let bench = Bench::start().await?;
    let content: String = (0..8).map(|n| format!("line <{n}>\n")).collect();
    let edits: Vec<_> = (0..8)
        .map(|n| {
            call("edit_file", json!({ "path": "a.txt", "old_text": format!("<{n}>"), "new_text": format!("[{n}]") }))
        })
        .collect();
    let ran = bench
        .run(json!([
            [call("write_file", json!({ "path": "a.txt", "content": content }))],
            edits,
            [call("read_file", json!({ "path": "a.txt" }))],
        ]))
        .await?;
    assert_eq!(ran.result(9), content.replace('<', "[").replace('>', "]"));
    bench.stop()
}

/// Row F51 of the cases: names come back as they were, in listings, in downloads, and in the header of the download.
#[tokio::test]
async fn names_of_every_kind_round_trip_and_ways_out_are_refused() -> Result {
    let bench = Bench::start().await?;
    let names = [
        "报告 %20 (1).txt",
        "a+b.txt",
        "a b.txt",
        "a%20b.txt",
        "x\u{202f}y.txt",
        "q\"uo;te.txt",
        "\u{e9}.txt",
        "e\u{301}.txt",
        ".hidden",
        "-rf",
    ];
    let path = |name: &str| format!("outputs/{name}");
    let writes: Vec<_> = names
        .iter()
        .map(|name| call("write_file", json!({ "path": path(name), "content": format!("bytes of {name}") })))
        .collect();
    let reads: Vec<_> = names.iter().map(|name| call("read_file", json!({ "path": path(name) }))).collect();
    let long = format!("{}.txt", "a".repeat(252));
    let refused = ["", "..", "a/../b", "/etc/passwd", "a\0b", "a\nb", &long];
    let rejects: Vec<_> =
        refused.iter().map(|name| call("write_file", json!({ "path": name, "content": "x" }))).collect();
    let ran = bench
        .run(json!([
            writes,
            reads,
            [call("list_files", json!({ "path": "outputs" }))],
            rejects,
            [call("glob", json!({ "pattern": "**" }))]
        ]))
        .await?;
    for (at, name) in names.iter().enumerate() {
        assert_eq!(ran.result(names.len() + at), format!("bytes of {name}"), "{name}");
        assert!(ran.result(2 * names.len()).contains(&format!("outputs/{name}  ")), "{name} is not listed");
        let artifact = ran.state["artifacts"].as_array().into_iter().flatten().find(|file| file["name"] == *name);
        let artifact = artifact.ok_or_else(|| format!("{name} is no artifact: {}", ran.state["artifacts"]))?;
        let link = text(artifact, "/downloadUrl")?;
        assert_eq!(bench.client.download(&link).await?, format!("bytes of {name}").into_bytes());
    }
    for (at, name) in refused.iter().enumerate() {
        assert_eq!(ran.code(2 * names.len() + 1 + at), "INVALID_PATH", "{name:?}");
    }
    assert_eq!(
        ran.result(2 * names.len() + 1 + refused.len()).lines().count(),
        names.len(),
        "something else was written"
    );
    bench.stop()
}

/// Every command gets a constructed environment and nothing of the server's or the runtime's own.
#[tokio::test]
async fn programs_find_the_constructed_environment_and_nothing_else() -> Result {
    let bench = Bench::start().await?;
    let python = "import os\nprint('\\n'.join(sorted(f'{k}={v}' for k, v in os.environ.items())))";
    let ran = bench
        .run(json!([
            [call("run_shell", json!({ "command": "env | sort" }))],
            [call("run_python", json!({ "code": python }))],
            [call("run_shell", json!({ "command": "id -u; cd ~ && pwd; touch \"$TMPDIR/x\" && mkdir -p \"$XDG_CACHE_HOME\" && echo writable" }))],
        ]))
        .await?;
    let names = |text: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name.to_owned()).collect()
    };
    let constructed = [
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    ];
    // A shell adds these two by itself.
    let of_shell: Vec<_> = names(ran.result(0)).into_iter().filter(|name| name != "SHLVL" && name != "_").collect();
    assert_eq!(of_shell, constructed, "{}", ran.result(0));
    let of_python: Vec<_> = names(ran.result(1))
        .into_iter()
        .filter(|name| !name.starts_with("PYTHON") && !["SHLVL", "_", "LC_CTYPE", "OLDPWD"].contains(&name.as_str()))
        .collect();
    assert_eq!(of_python, constructed, "{}", ran.result(1));
    assert!(ran.result(2).ends_with("/tmp/vitrine-home\nwritable\n"), "{}", ran.result(2));
    bench.stop()
}

/// The children of a process whose command line has this word.
fn children(of: u32, word: &str) -> Result<Vec<String>> {
    let is_one = |pid: &String| {
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let (status, line) = (read("status"), read("cmdline"));
        String::from_utf8_lossy(&status).lines().any(|line| line == format!("PPid:\t{of}"))
            && String::from_utf8_lossy(&line).contains(word)
    };
    let processes = std::fs::read_dir("/proc")?.collect::<std::io::Result<Vec<_>>>()?;
    Ok(processes.iter().map(|entry| entry.file_name().to_string_lossy().into_owned()).filter(is_one).collect())
}

/// Whoever reads the result must know that the program may have done something.
#[tokio::test]
async fn a_program_whose_runtime_is_killed_may_have_run_in_part() -> Result {
    let bench = Bench::start().await?;
    let groups = json!([
        [call("run_shell", json!({ "command": "echo begun; sleep 600" }))],
        [call("run_shell", json!({ "command": "echo again" }))],
    ]);
    let task = json!({ "calls": groups, "answer": "done" }).to_string();
    let execution = bench.client.start(&bench.agent, &task, "killed").await?;
    let mut follower = Follower::open(&bench.client, &execution, None).await?;
    while !follower.next().await?.ok_or("the execution ended too early")?.payload.contains("begun\\n") {}
    let server = bench.server.pid();
    let runtime = children(server, "sandbox-runtime")?;
    assert_eq!(runtime.len(), 1, "{runtime:?}");
    assert!(std::process::Command::new("kill").args(["-9", &runtime[0]]).status()?.success());
    let state = bench.client.ended(&execution).await?;
    let calls: Vec<_> = state["iterations"]["nodes"].as_array().into_iter().flatten().collect();
    let first = &calls[0]["toolCalls"][0];
    assert_eq!((&first["state"], &first["error"]["code"]), (&json!("INTERRUPTED"), &json!("INTERRUPTED")), "{first}");
    assert!(text(first, "/result")?.contains("the program may have run in part"), "{first}");
    bench.stop()
}

/// What the log's head and tail leave out is in a file, whole; beyond the bound the file says that it is cut.
#[tokio::test]
async fn what_a_program_prints_is_kept_whole() -> Result {
    let bench = Bench::start().await?;
    let print = |lines: u32| call("run_shell", json!({ "command": format!("seq 1 {lines}") }));
    let ran = bench.run(json!([[print(10_000)], [print(200_000)], [print(12_000_000)]])).await?;
    let events = bench.events(&ran, "OutputTruncated").await?;
    assert_eq!(events.len(), 2, "what fits into the log is not kept twice: {events:?}");
    let (file, bytes) = bench.file(&events[0]).await?;
    let whole: String = (1..=200_000).map(|n| format!("{n}\n")).collect();
    assert!(bytes == whole.as_bytes(), "{} of {} bytes", bytes.len(), whole.len());
    assert!(text(&file, "/name")?.starts_with("output-"), "{file}");
    let (_, bytes) = bench.file(&events[1]).await?;
    let end = String::from_utf8_lossy(&bytes[bytes.len() - 60..]).into_owned();
    assert!(end.ends_with(" more bytes were printed]\n") && end.contains("[cut here: "), "{end}");
    assert!((64 << 20..65 << 20).contains(&bytes.len()), "{} bytes", bytes.len());
    assert_eq!(ran.state["artifacts"], json!([]), "what is printed is no output file");
    bench.stop()
}

/// Row F49 of the cases: bytes that are no text are marked, no NUL is stored, and the bytes are kept as they were.
#[tokio::test]
async fn output_that_is_no_text_is_kept_as_it_was() -> Result {
    let bench = Bench::start().await?;
    let ran = bench
        .run(json!([
            [call("run_python", json!({ "code": "import sys; sys.stdout.buffer.write(b'he\\xff\\0\\xfelo')" }))],
            [call("run_shell", json!({ "command": "printf 'a\\000b' >&2; echo text" }))],
            [call("run_shell", json!({ "command": "echo '\u{fffd}'" }))],
        ]))
        .await?;
    assert_eq!(ran.result(0), "he\u{fffd}\u{fffd}\u{fffd}lo");
    assert_eq!((&ran.calls[0]["lossy"], &ran.calls[0]["exitCode"]), (&json!(true), &json!(0)));
    assert!(whole_log(&bench.client, &ran.execution).await?.iter().all(|event| !event.payload.contains("\\u0000")));
    let events = bench.events(&ran, "RawOutputKept").await?;
    // The character that stands for lost bytes may itself be printed, and then nothing is lost.
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!((&events[0]["stream"], &events[1]["stream"]), (&json!("STDOUT"), &json!("STDERR")));
    assert_eq!(bench.file(&events[0]).await?.1, b"he\xff\0\xfelo");
    assert_eq!(bench.file(&events[1]).await?.1, b"a\0b");
    bench.stop()
}

#[tokio::test]
async fn what_is_no_file_in_outputs_is_refused_with_a_warning() -> Result {
    let bench = Bench::start().await?;
    let make = "cd outputs; ln -s /etc/passwd link; mkfifo pipe; printf x > \"$(printf 'bad\\377')\"; printf x > 'a$HOME'; \
        mkdir -p deep/er; printf y > deep/er/good.txt";
    let again = call("run_shell", json!({ "command": "echo again" }));
    let ran = bench.run(json!([[call("run_shell", json!({ "command": make }))], [again]])).await?;
    let artifacts = ran.state["artifacts"].as_array().ok_or("no artifacts")?;
    assert_eq!(artifacts.len(), 1, "{artifacts:?}");
    assert_eq!(artifacts[0]["name"], "deep/er/good.txt");
    let warnings = bench.events(&ran, "WarningRaised").await?;
    let refused: Vec<_> = warnings.iter().filter(|warning| warning["code"] == "OUTPUTS_REFUSED").collect();
    assert_eq!(refused.len(), 1, "{warnings:?}");
    let message = text(refused[0], "/message")?;
    for entry in ["\"link\" (a link)", "\"pipe\" (no regular file)", "\"a$HOME\" (a name", "\"bad\u{fffd}\" (a name"] {
        assert!(message.contains(entry), "{entry}: {message}");
    }
    bench.stop()
}

/// The example runs as it is, against a server as it comes.
#[tokio::test]
async fn the_example_runs_programs_of_every_kind_and_draws_a_page() -> Result {
    let bench = Bench::start().await?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sandbox/run.py");
    let key = bench.server.api_key.clone().ok_or("no API key")?;
    let url = bench.client.url.clone();
    let ran = tokio::task::spawn_blocking(move || {
        let mut command = std::process::Command::new("python3");
        command.args([script, "--url", &url, "--api-key", &key]).output()
    });
    let output = ran.await??;
    let printed = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    for line in [
        "== Python: SUCCEEDED",
        " 18446744073709551616",
        "run_javascript: JavaScript 1 < 2 < 3",
        "run_shell: 1+2+3+4+5",
        "artifact numbers.txt (text/plain, 10 bytes): http://",
        "browse: A page\nDrawn in a sandbox",
        "browse: Saved outputs/page.png, ",
    ] {
        assert!(printed.contains(line), "{line} is missing in:\n{printed}");
    }
    let link =
        printed.lines().find(|line| line.contains("page.png (image/png")).and_then(|line| line.split(": ").last());
    let picture = bench.client.download(link.ok_or("no link to the picture")?).await?;
    assert!(picture.starts_with(b"\x89PNG\r\n\x1a\n"), "{} bytes", picture.len());
    bench.stop()
}
