/** Starts `stablelint server` for the Python of a window; everything else is the server's. */

import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, type ServerOptions } from "vscode-languageclient/node";

const SECTION = "stablelint";
let client: LanguageClient | undefined;

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
  client = new LanguageClient(SECTION, SECTION, server, options);
  try {
    await client.start();
  } catch (error) {
    const install = "pip install 'stablelint[server]'";
    void vscode.window.showErrorMessage(`stablelint: cannot start \`${command}\`: ${error}. ${install} brings it.`);
  }
}
