/** Starts `stablelint server` for the Python of a window; everything else is the server's. */

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

const SECTION = "stablelint";
let client: LanguageClient | undefined;

/** What goes wrong is told once, by `start`; the client itself only writes it to its log. */
class Client extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  context.subscriptions.push(
    vscode.commands.registerCommand("stablelint.restart", restart),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration(SECTION)) await restart();
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(SECTION);
  const [command, ...args] = settings.get<string[]>("command", ["stablelint", "server"]);
  if (command === undefined) return;
  const server: ServerOptions = { command, args };
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
      { language: "python", notebook: "jupyter-notebook" },
    ],
    initializationOptions: { inlayHints: settings.get<boolean>("inlayHints", false) },
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{pyproject.toml,*.md}") },
  };
  client = new Client(SECTION, SECTION, server, options);
  try {
    await client.start();
  } catch (error) {
    client = undefined; // one that has not started cannot be stopped
    const why = String(error).includes("ENOENT") ? "there is no such command" : error;
    const help = "`pip install 'stablelint[server]'` brings it; `stablelint.command` says where it is.";
    const choice = await vscode.window.showErrorMessage(`Cannot start \`${command}\`: ${why}. ${help}`, "Open settings");
    if (choice !== undefined) void vscode.commands.executeCommand("workbench.action.openSettings", `${SECTION}.command`);
  }
}
