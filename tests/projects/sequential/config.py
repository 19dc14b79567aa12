from torch import nn


def make_model(config):
    layers = [nn.Linear(config["inputs"], config["hidden"]), nn.ReLU()]
    for _ in range(config["depth"]):
        layers.append(nn.Linear(config["hidden"], config["hidden"]))
        layers.append(nn.ReLU())
    layers += [nn.Linear(config["hidden"], config["classes"]), nn.Softmax(dim=1)]
    return nn.Sequential(*layers)


def make_criterion(config):
    return nn.CrossEntropyLoss(label_smoothing=config["smoothing"])
